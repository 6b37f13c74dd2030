/* SPDX-License-Identifier: BSD-2-Clause */
/* The stations behind each port of the switch, by MAC and by IPv4 address. */
#pragma once

#include "forward.h"

void stations_init(struct forward *forward);

/* No other station has this MAC; there are fewer than FORWARD_STATIONS. */
void station_add(struct forward *forward, const uint8_t mac[6], uint32_t ipv4, unsigned port);

/* The station that has this address: null for strangers. */
const struct forward_station *station_by_mac(const struct forward *forward, uint64_t mac);
const struct forward_station *station_by_ipv4(const struct forward *forward, uint32_t ipv4);
