/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "../ethernet.h"
#include "switch.h"

void stations_init(struct forward *forward)
{
	forward->stations = 0;
	for (unsigned i = 0; i < FORWARD_TABLE; i++)
		forward->by_mac[i] = FORWARD_NONE;
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
	unsigned h = station_hash(mac_number(mac));

	require(forward->stations < FORWARD_STATIONS && port < forward->count);
	require(!station_by_mac(forward, mac_number(mac)));
	forward->station[forward->stations] = (struct forward_station){ .mac = mac_number(mac), .ipv4 = ipv4,
	                                                                .port = port };
	while (forward->by_mac[h] != FORWARD_NONE)
		h = (h + 1) & (FORWARD_TABLE - 1);
	forward->by_mac[h] = (uint8_t)forward->stations++;
}

void forward_routes(struct forward *forward, const struct process_route *route, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		station_add(forward, route[i].mac, route[i].ipv4, route[i].port);
}

int group_destination(const struct forward *forward, unsigned source, const uint8_t *frame, uint32_t length)
{
	const struct forward_station *station;

	require(source < forward->count && length >= ETHERNET_HEADER);
	if (length < ARP_FRAME || load_be16(frame + ETHERTYPE_OFFSET) != ETHERTYPE_ARP ||
	    load_be16(frame + ARP_OPERATION_OFFSET) != ARP_REQUEST)
		return TO_ALL;
	station = station_by_ipv4(forward, load_raw32(frame + ARP_TARGET_IP_OFFSET));
	/* an announcement: it asks for its own address */
	if (station ? station->port == source : forward->port[source].upper)
		return TO_ALL;
	return port_of(forward, station, source);
}
