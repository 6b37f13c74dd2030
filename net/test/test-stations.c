/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch's table of stations: addresses whose probes collide, a full table, memory that was in use before; and
 * where a frame for a group goes, of which nothing is read behind its end.
 */
#include <string.h>
#include <sys/mman.h>
#include "../ethernet.h"
#include "../switch/switch.h"
#include "test.h"

enum { PAGE = 4096, PORTS = 4, SOURCE = 1, TARGET = 2, UPLINK = 3, MOST = FORWARD_STATIONS - 1 };

static struct forward forward;
static uint8_t address[MOST + 1][6]; /* the last one is no station's */

static uint32_t ipv4_of(unsigned station) { return 0x0a + (station << 24); }

/* No station, in memory that held others. */
static void set_up(void)
{
	memset(&forward, 0x11, sizeof(forward));
	forward.uplink = UPLINK;
	for (unsigned i = 0; i < PORTS; i++)
		forward.port[i].upper = false;
	struct forward_port before = forward.port[0];

	stations_init(&forward);
	CHECK(!forward.stations && !memcmp(&before, &forward.port[0], sizeof(before)));
	for (unsigned i = 0; i < FORWARD_TABLE; i++)
		CHECK(forward.by_mac[i] == FORWARD_NONE);
	CHECK(!station_by_ipv4(&forward, forward.station[0].ipv4));
}

/* Addresses that begin their probes at `places` places, up to the table's last one. */
static void draw_addresses(unsigned places)
{
	uint32_t number = 0;

	for (unsigned i = 0; i <= MOST; i++)
		do {
			number++;
			memset(address[i], 0, 6);
			address[i][0] = 2;
			memcpy(address[i] + 2, &number, 4);
		} while (station_hash(mac_number(address[i])) < FORWARD_TABLE - places);
}

static void check_station(unsigned i)
{
	const struct forward_station *known = station_by_mac(&forward, mac_number(address[i]));

	CHECK(known && known == station_by_ipv4(&forward, ipv4_of(i)));
	CHECK(known->mac == mac_number(address[i]) && known->ipv4 == ipv4_of(i) && known->port == i % PORTS);
	CHECK(frame_destination(&forward, (i + 1) % PORTS, address[i], 60) == (int)(i % PORTS));
	CHECK(frame_destination(&forward, i % PORTS, address[i], 60) == TO_NOBODY);
}

static void lookups(unsigned places)
{
	set_up();
	draw_addresses(places);
	for (unsigned i = 0; i < MOST; i++) {
		const struct process_route route = { .port = (uint16_t)(i % PORTS), .ipv4 = ipv4_of(i) };

		CHECK(!station_by_mac(&forward, mac_number(address[i])) && !station_by_ipv4(&forward, ipv4_of(i)));
		CHECK(frame_destination(&forward, SOURCE, address[i], 60) == UPLINK &&
		      frame_destination(&forward, UPLINK, address[i], 60) == TO_NOBODY);
		if (i % 2) {
			station_add(&forward, address[i], ipv4_of(i), i % PORTS);
		} else {
			struct process_route with_mac = route;

			memcpy(with_mac.mac, address[i], 6);
			forward_routes(&forward, &with_mac, 1);
		}
		CHECK(forward.stations == i + 1);
		for (unsigned k = 0; k <= i; k++)
			check_station(k);
	}
	CHECK(!station_by_mac(&forward, mac_number(address[MOST])) && !station_by_ipv4(&forward, ipv4_of(MOST)));
}

/* Several routes at once; none without an address of IPv4 is found by it. */
static void routes(void)
{
	struct process_route route[3] = { { .port = 0 }, { .port = 1, .ipv4 = ipv4_of(7) }, { .port = 2 } };

	set_up();
	for (unsigned i = 0; i < 3; i++)
		memcpy(route[i].mac, address[i], 6);
	forward_routes(&forward, route, 0);
	CHECK(!forward.stations);
	forward_routes(&forward, route, 3);
	CHECK(forward.stations == 3 && !station_by_ipv4(&forward, 0));
	CHECK(station_by_ipv4(&forward, ipv4_of(7)) == station_by_mac(&forward, mac_number(address[1])));
	for (unsigned i = 0; i < 3; i++)
		CHECK(station_by_mac(&forward, mac_number(address[i]))->port == i);
}

static uint8_t *page; /* nothing can be read behind it */

/* Where a broadcast goes that ends with its page, and asks for `target`. */
static int group_of(unsigned source, uint32_t length, uint16_t type, uint16_t operation, uint32_t target)
{
	uint8_t frame[60] = { 255, 255, 255, 255, 255, 255 }, *at = page + PAGE - length;

	store_be16(frame + ETHERTYPE_OFFSET, type);
	store_be16(frame + ARP_OPERATION_OFFSET, operation);
	memcpy(frame + ARP_TARGET_IP_OFFSET, &target, 4);
	memcpy(at, frame, length);
	return frame_destination(&forward, source, at, length);
}

static void groups(void)
{
	set_up();
	station_add(&forward, address[0], ipv4_of(0), TARGET);
	for (uint32_t length = ETHERNET_HEADER; length < ARP_FRAME; length++)
		CHECK(group_of(SOURCE, length, ETHERTYPE_ARP, ARP_REQUEST, ipv4_of(0)) == TO_ALL);
	for (uint32_t length = ARP_FRAME; length <= 60; length++) {
		CHECK(group_of(SOURCE, length, ETHERTYPE_ARP, ARP_REQUEST, ipv4_of(0)) == TARGET);
		CHECK(group_of(SOURCE, length, ETHERTYPE_ARP, ARP_REQUEST + 1, ipv4_of(0)) == TO_ALL);
		CHECK(group_of(SOURCE, length, ETHERTYPE_IPV4, ARP_REQUEST, ipv4_of(0)) == TO_ALL);
	}
	CHECK(group_of(TARGET, 60, ETHERTYPE_ARP, ARP_REQUEST, ipv4_of(0)) == TO_ALL);
	CHECK(group_of(UPLINK, 60, ETHERTYPE_ARP, ARP_REQUEST, ipv4_of(0)) == TARGET);
	CHECK(group_of(SOURCE, 60, ETHERTYPE_ARP, ARP_REQUEST, ipv4_of(9)) == UPLINK);
	CHECK(group_of(UPLINK, 60, ETHERTYPE_ARP, ARP_REQUEST, ipv4_of(9)) == TO_NOBODY);
	forward.port[UPLINK].upper = true; /* which would not send it down for a stranger */
	CHECK(group_of(UPLINK, 60, ETHERTYPE_ARP, ARP_REQUEST, ipv4_of(9)) == TO_ALL);
	CHECK(group_of(UPLINK, 60, ETHERTYPE_ARP, ARP_REQUEST, ipv4_of(0)) == TARGET);
	forward.uplink = FORWARD_NONE;
	CHECK(group_of(SOURCE, 60, ETHERTYPE_ARP, ARP_REQUEST, ipv4_of(9)) == TO_NOBODY);
}

int main(void)
{
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED && !mprotect(page + PAGE, PAGE, PROT_NONE));
	lookups(FORWARD_TABLE);
	lookups(1);
	lookups(3);
	routes();
	groups();
	return 0;
}
