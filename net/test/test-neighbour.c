/* SPDX-License-Identifier: BSD-2-Clause */
/* The station to which packets leave through the switch: another one where ARP says so, and the right one of
 * several. */
#include <netinet/in.h>
#include <string.h>
#include "../port_end.h"
#include "lab/lab.h"
#include "test.h"

enum { STACK, FIRST, NEXT, CABLED, STATIONS, MESSAGE = 11 }; /* CABLED: also at the far end of a cable */
enum { ETHERTYPE = 12, IP = 14, IP_TO = 30, DATA = 42, ARP_SENDER = 22, ARP_SENDER_IP = 28, ARP_TARGET = 32,
       ARP_TARGET_IP = 38, ARP_FRAME = 42 };

static struct port_end far_end; /* of the cable */
static struct file *file;
static unsigned asked; /* packets for which ARP was asked, before */
static const uint32_t wandering = 77, other = 78, gateway = 79, second = 80; /* addresses 10.0.0.(n + 1), of no port */
static const uint32_t far_away = 1u << 24;                      /* 11.0.0.1 */

static void set_mac(uint8_t mac[6], unsigned port)
{
	memcpy(mac, (const uint8_t[]){ 2, 0, 0, 0, 0, (uint8_t)port }, 6);
}

static void run_network(void)
{
	lab_pass(10);
	port_poll(&far_end);
	lab_pass(10);
}

/* An ARP reply to the stack: the station at this port has that address. */
static void claim(unsigned port, uint32_t address)
{
	uint8_t *frame = port_reserve(&lab.station[port]);
	const uint32_t from = address_of(address), to = address_of(STACK);

	CHECK(frame);
	memset(frame, 0, ARP_FRAME);
	set_mac(frame, STACK);
	set_mac(frame + 6, port);
	memcpy(frame + ETHERTYPE, (const uint8_t[]){ 8, 6, 0, 1, 8, 0, 6, 4, 0, 2 }, 10);
	set_mac(frame + ARP_SENDER, port);
	memcpy(frame + ARP_SENDER_IP, &from, 4);
	set_mac(frame + ARP_TARGET, STACK);
	memcpy(frame + ARP_TARGET_IP, &to, 4);
	port_publish(&lab.station[port], ARP_FRAME);
	run_network();
}

static void send_message(uint32_t address, char mark)
{
	char message[MESSAGE] = { mark };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7),
	                          .sin_addr.s_addr = address_of(address) };
	struct iovec iov = { message, sizeof(message) };
	struct msghdr header = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov, .msg_iovlen = 1 };

	CHECK(file->ops->sendmsg(file, &header, 0) == MESSAGE);
	run_network();
}

/* Returns whether this message, to that address, is the next frame there; it begins as a packet of the stack's to this
 * port must. */
static bool has_come_by(struct port_end *end, unsigned port, uint32_t address, char mark)
{
	uint8_t expected[IP], to[4];
	uint32_t length;
	const uint8_t *frame = port_peek(end, &length);
	bool right;

	if (!frame)
		return false;
	set_mac(expected, port);
	set_mac(expected + 6, STACK);
	memcpy(expected + ETHERTYPE, (const uint8_t[]){ 8, 0 }, 2);
	memcpy(to, &(uint32_t){ address_of(address) }, 4);
	right = length == DATA + MESSAGE && !memcmp(frame, expected, sizeof(expected)) &&
	        !memcmp(frame + IP_TO, to, 4) &&
		frame[DATA] == (uint8_t)mark;
	port_release(end);
	return right;
}

static bool has_come(unsigned port, uint32_t address, char mark)
{
	return has_come_by(&lab.station[port], port, address, mark);
}

/* Drops all frames: the stack announces itself at its start, which does not count. */
static void drop(unsigned port)
{
	uint32_t length;

	while (port_peek(&lab.station[port], &length))
		port_release(&lab.station[port]);
}

static bool quiet(void)
{
	uint32_t length;

	return !port_peek(&lab.station[FIRST], &length) && !port_peek(&lab.station[NEXT], &length) &&
	       !port_peek(&lab.station[CABLED], &length);
}

static void set_up(int count, char **arguments)
{
	lab_begin(count, arguments);
	lab_cable(STACK, CABLED);
	lab.gateway = address_of(gateway);
	lab_start(STATIONS);
	here = life_start(STACK);
	for (unsigned at = FIRST; at < STATIONS; at++)
		station_start(at);
	far_end = cable_open(lab.cable[0], PORT_FROM_SWITCH, 2);
	CHECK(socket_create(AF_INET, SOCK_DGRAM, 0, &file) == 0);
	run_network();
	for (unsigned at = FIRST; at < STATIONS; at++)
		drop(at);
	CHECK(far_end.up);
}

int main(int count, char **arguments)
{
	set_up(count, arguments);
	claim(FIRST, wandering);
	asked = here->calls->asked();
	for (char mark = 'a'; mark < 'e'; mark++) {
		send_message(wandering, mark);
		CHECK(has_come(FIRST, wandering, mark) && quiet());
	}
	CHECK(here->calls->asked() == asked + 1); /* the station is known then */

	claim(NEXT, other); /* packets take turns */
	for (char mark = 'a'; mark < 'e'; mark++) {
		send_message(wandering, mark);
		send_message(other, mark);
		CHECK(has_come(FIRST, wandering, mark) && has_come(NEXT, other, mark) && quiet());
	}

	send_message(wandering, 'f');
	CHECK(has_come(FIRST, wandering, 'f'));
	claim(NEXT, wandering); /* the address has gone to another station */
	asked = here->calls->asked();
	for (char mark = 'g'; mark < 'j'; mark++) {
		send_message(wandering, mark);
		CHECK(has_come(NEXT, wandering, mark) && quiet());
	}
	CHECK(here->calls->asked() == asked + 1);

	claim(FIRST, gateway);
	claim(NEXT, far_away); /* no station of this net has that address */
	asked = here->calls->asked();
	for (char mark = 'a'; mark < 'e'; mark++) {
		send_message(far_away, mark);
		CHECK(has_come(FIRST, far_away, mark) && quiet());
	}
	CHECK(here->calls->asked() == asked + 4); /* each time: such a station is not remembered */

	claim(CABLED, second); /* a second address of the cable's far end */
	for (char mark = 'a'; mark < 'e'; mark++) {
		send_message(second, mark);
		CHECK(has_come_by(&far_end, CABLED, second, mark) && quiet());
	}

	claim(NEXT, wandering);
	send_message(wandering, 'h');
	CHECK(has_come(NEXT, wandering, 'h'));
	here->calls->forget_stations();
	lab_pass(1100);
	send_message(wandering, 'i'); /* waits for ARP */
	CHECK(quiet());
	claim(FIRST, wandering);
	CHECK(has_come(FIRST, wandering, 'i') && quiet());
	return 0;
}
