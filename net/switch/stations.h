/* SPDX-License-Identifier: BSD-2-Clause */
/* The stations behind each port of the switch, by MAC and by IPv4 address. */
#pragma once

#include <stddef.h>
#include <skerry/require.h>
#include "forward.h"
#include "../mac.h"

void stations_init(struct forward *forward);

/* A further station; no other has its MAC. */
void station_add(struct forward *forward, const uint8_t mac[6], uint32_t ipv4, unsigned port);

static inline unsigned station_hash(uint64_t mac)
{
	return (unsigned)((mac * 0x9e3779b97f4a7c15ull) >> 55) & (FORWARD_TABLE - 1);
}

/* The station that has this address: null for strangers. */
static inline const struct forward_station *station_by_mac(const struct forward *forward, uint64_t mac)
{
	unsigned h = station_hash(mac);

	while (forward->by_mac[h] != FORWARD_NONE && forward->station[forward->by_mac[h]].mac != mac)
		h = (h + 1) & (FORWARD_TABLE - 1);
	return forward->by_mac[h] == FORWARD_NONE ? NULL : &forward->station[forward->by_mac[h]];
}
const struct forward_station *station_by_ipv4(const struct forward *forward, uint32_t ipv4);

enum { TO_ALL = -1, TO_NOBODY = -2 };

/* Where a frame for a group of stations goes: TO_ALL, or the port of the station that an ARP request asks for. */
int group_destination(const struct forward *forward, unsigned source, const uint8_t *frame, uint32_t length);

/* The port of `station`, or else the uplink; but no frame goes back to where it came from. */
static inline int port_of(const struct forward *forward, const struct forward_station *station, unsigned source)
{
	unsigned port = station ? station->port : forward->uplink;

	require(port < forward->count || port == FORWARD_NONE);
	return port == FORWARD_NONE || port == source ? TO_NOBODY : (int)port;
}

/* Where a frame goes: a port, TO_ALL or TO_NOBODY. */
static inline int frame_destination(const struct forward *forward, unsigned source, const uint8_t *frame,
                                    uint32_t length)
{
	uint64_t mac = mac_number(frame);

	if (mac_is_group(mac))
		return group_destination(forward, source, frame, length);
	return port_of(forward, station_by_mac(forward, mac), source);
}
