/* SPDX-License-Identifier: BSD-2-Clause */
/* The answers of a tree of switches for stations, and for lower switches, that have ended. */
#include <string.h>
#include "../ethernet.h"
#include "../switch/ended.h"
#include "test.h"
#include "test-switches.h"
#include "tree.h"

enum { ACK = 16, PUSH = 8, SYN = 2, RESET = 4, REDIS = 6379, LENGTH = 20 };

/* A whole TCP segment, LENGTH bytes of data in it. */
static void send_segment(unsigned from, unsigned to, uint16_t from_port, uint16_t to_port, uint8_t flags)
{
	uint8_t frame[54 + LENGTH] = { 0 };
	uint32_t ipv4;

	address(to, frame, &ipv4);
	memcpy(frame + 30, &ipv4, 4);
	address(from, frame + 6, &ipv4);
	memcpy(frame + 26, &ipv4, 4);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_IPV4);
	frame[14] = 0x45;
	store_be16(frame + 16, 40 + LENGTH);
	frame[23] = 6;
	store_be16(frame + 34, from_port);
	store_be16(frame + 36, to_port);
	frame[46] = 0x50;
	frame[47] = flags;
	CHECK(send_frame(from, frame, sizeof(frame)));
	run();
}

/* The next frame resets the connection with `from`'s port 6379. */
static void take_reset(unsigned at, unsigned from, uint16_t to_port)
{
	uint8_t mac[6];
	uint32_t length, ipv4;
	uint8_t *frame = port_peek(&station[at], &length);

	address(from, mac, &ipv4);
	CHECK(frame && length == 54 && !memcmp(frame + 6, mac, 6) && load_raw32(frame + 26) == ipv4 &&
	      frame[47] & RESET);
	CHECK(load_be16(frame + 34) == REDIS && load_be16(frame + 36) == to_port);
	port_release(&station[at]);
}

static void end(struct forward *at, unsigned port)
{
	port_close((struct port_epochs *)((char *)at->port[port].end.memory + PORT_EPOCHS), PORT_TO_SWITCH);
	run();
}

/* One behind a lower switch ends: its peers everywhere learn of it from that switch. */
void an_end(void)
{
	send_segment(A, B, 1000, REDIS, PUSH | ACK);
	send_segment(C, B, 2000, REDIS, PUSH | ACK);
	send_segment(E, B, 3000, REDIS, PUSH | ACK);
	CHECK(waiting(B) == 3);
	end(&lower[0], 0);
	take_reset(A, B, 1000);
	take_reset(C, B, 2000);
	take_reset(E, B, 3000);
	send_segment(OUTSIDE, B, 4000, REDIS, SYN);
	take_reset(OUTSIDE, B, 4000);
	CHECK(send_to(D, C, 1));
	check_at(1 << C);
}

/* A lower switch ends: the root answers for all behind it. */
void an_end_of_all(void)
{
	uint8_t mac[6];
	uint32_t ipv4, length;
	uint8_t *frame;

	send_segment(A, B, 1000, REDIS, PUSH | ACK);
	send_segment(A, C, 1000, REDIS, PUSH | ACK); /* the same ports */
	send_segment(D, C, 2000, REDIS, PUSH | ACK);
	send_segment(B, E, REDIS, 3000, PUSH | ACK);
	CHECK(waiting(B) == 1 && waiting(C) == 2 && waiting(E) == 1);
	stopped[0] = true;
	end(&root, 2);
	take_reset(A, C, 1000);
	take_reset(A, B, 1000);
	take_reset(D, C, 2000);
	take_reset(E, B, 3000);
	for (unsigned i = 0; i < 3 * PORT_SLOTS; i++) {
		send_segment(OUTSIDE, C, 4000, REDIS, SYN);
		take_reset(OUTSIDE, C, 4000);
	}
	address(B, mac, &ipv4);
	ask(D, ipv4, false);
	run();
	frame = port_peek(&station[D], &length);
	CHECK(frame && length == ARP_FRAME && !memcmp(frame + 22, mac, 6) && load_raw32(frame + 28) == ipv4);
	port_release(&station[D]);
	CHECK(send_to(D, A, 1));
	check_at(1 << A);
	CHECK(!root.dropped && !root.behind);
}

/* The word at the upper switch's port says that this switch has ended, which it has not: it opens the port again. */
void its_own_end(void)
{
	port_close((struct port_epochs *)((char *)root.port[2].end.memory + PORT_EPOCHS), PORT_TO_SWITCH);
	run();
	run(); /* the root has let it in again */
	CHECK(send_to(B, A, 7) && send_to(A, B, 8));
	run();
	CHECK(take(A) == 7 && take(B) == 8);
}

/* The switch's cluster counts as lost at the other end of a port, while it still runs: it resets nobody, and goes
 * on. */
void given_up(void)
{
	send_segment(A, B, 1000, REDIS, PUSH | ACK);
	send_segment(OUTSIDE, A, 2000, REDIS, PUSH | ACK);
	CHECK(waiting(B) == 1 && waiting(A) == 1);
	port_close((struct port_epochs *)((char *)root.port[1].end.memory + PORT_EPOCHS), PORT_FROM_SWITCH);
	send_segment(OUTSIDE, A, 2000, REDIS, PUSH | ACK);
	run();
	CHECK(!waiting(OUTSIDE) && !waiting(B) && !root.reset_queue.waiting && !root.reset_queue.count);
	for (unsigned i = 0; i < 2; i++) { /* as A's stack does when it is woken */
		port_poll(&station[A]);
		run();
	}
	waiting(A);
	CHECK(send_to(A, B, 7) && send_to(OUTSIDE, A, 8));
	run();
	CHECK(take(B) == 7 && take(A) == 8);
}

/* The root ends: a lower switch drops what it has for it at once, and counts it, and delivers the rest. */
void cut_off(void)
{
	const struct forward_port *upper = &lower[0].port[UPPER];
	const uint64_t delivered = upper->delivered, missed = upper->missed;

	port_close((struct port_epochs *)((char *)upper->end.memory + PORT_EPOCHS), PORT_FROM_SWITCH);
	while (forward_last_pass(&lower[0], now)) /* which looks at all ports */
		;
	for (unsigned i = 1; i <= 3 * PORT_SLOTS; i++) {
		CHECK(send_to(B, A, i) && send_to(B, C, i));
		while (forward_pass(&lower[0], now))
			;
		CHECK(!forward_last_pass(&lower[0], now) && !lower[0].deadline);
		CHECK(take(C) == i && upper->missed == missed + i);
	}
	CHECK(upper->delivered == delivered && !upper->dropped && !lower[0].dropped && !lower[0].behind &&
	      !upper->strays);
	run();
	run(); /* the root has opened the port again */
	CHECK(!waiting(A) && send_to(B, A, 7) && send_to(A, B, 8));
	run();
	CHECK(take(A) == 7 && take(B) == 8);
}

/* One ends while its peer is out of reach: nobody can be told, and nothing waits for it. */
void an_end_while_cut_off(void)
{
	const struct forward_port *upper = &lower[0].port[UPPER];

	send_segment(A, B, 1000, REDIS, PUSH | ACK);
	port_close((struct port_epochs *)((char *)upper->end.memory + PORT_EPOCHS), PORT_FROM_SWITCH);
	port_close((struct port_epochs *)((char *)lower[0].port[0].end.memory + PORT_EPOCHS), PORT_TO_SWITCH);
	while (forward_last_pass(&lower[0], now))
		;
	CHECK(lower[0].port[0].resets_sent && !lower[0].reset_queue.count && !lower[0].behind && !lower[0].deadline);
}
