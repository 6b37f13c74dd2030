/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include "stations.h"
#include "../ethernet.h"

void stations_init(struct forward *forward)
{
	forward->stations = 0;
	for (unsigned i = 0; i < FORWARD_TABLE; i++)
		forward->by_mac[i] = FORWARD_NONE;
}

static unsigned mac_hash(uint64_t mac)
{
	return (unsigned)((mac * 0x9e3779b97f4a7c15ull) >> 55) & (FORWARD_TABLE - 1);
}

const struct forward_station *station_by_mac(const struct forward *forward, uint64_t mac)
{
	unsigned h = mac_hash(mac);

	while (forward->by_mac[h] != FORWARD_NONE && forward->station[forward->by_mac[h]].mac != mac)
		h = (h + 1) & (FORWARD_TABLE - 1);
	return forward->by_mac[h] == FORWARD_NONE ? NULL : &forward->station[forward->by_mac[h]];
}

const struct forward_station *station_by_ipv4(const struct forward *forward, uint32_t ipv4)
{
	for (unsigned i = 0; i < forward->stations; i++)
		if (ipv4 && forward->station[i].ipv4 == ipv4)
			return &forward->station[i];
	return NULL;
}

void station_add(struct forward *forward, const uint8_t mac[6], uint32_t ipv4, unsigned port)
{
	unsigned h = mac_hash(mac_number(mac));

	forward->station[forward->stations] = (struct forward_station){ .mac = mac_number(mac), .ipv4 = ipv4, .port = port };
	while (forward->by_mac[h] != FORWARD_NONE)
		h = (h + 1) & (FORWARD_TABLE - 1);
	forward->by_mac[h] = (uint8_t)forward->stations++;
}

void forward_routes(struct forward *forward, const struct process_route *route, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		station_add(forward, route[i].mac, route[i].ipv4, route[i].port);
}
