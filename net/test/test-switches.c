/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree of switches, with stations that the test plays:
 *
 *     outside ── root ── a
 *                 ├── lower ── b, c
 *                 └── lower ── d, e
 *
 * Where frames go, that each arrives once, that a lower switch which is slow, stopped or dead harms only those behind
 * it, and the answers for stations and lower switches that have ended.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../ethernet.h"
#include "../switch/switch.h"
#include "test.h"

enum { OUTSIDE, A, B, C, D, E, STATIONS, ALL = (1 << STATIONS) - 1 };
enum { ROOT_PORTS = 4, LOWER_PORTS = 3, UPPER = 2, LOWERS = 2, TIMEOUT = 1000000000 };

static struct forward root, lower[LOWERS];
static char *root_memory, *lower_memory[LOWERS];
static struct port_end station[STATIONS];
static bool stopped[LOWERS]; /* lower switches that do not run */
static uint64_t now = 1;

static void address(unsigned who, uint8_t mac[6], uint32_t *ipv4)
{
	memcpy(mac, (const uint8_t[6]){ 2, 0x53, 0x4b, 0, 0, (uint8_t)who }, 6);
	*ipv4 = 0x0000000a | who << 24;
}

static struct process_port port_for(unsigned who)
{
	struct process_port port = { 0 };

	address(who, port.mac, &port.ipv4);
	return port;
}

static struct process_route route_to(unsigned who, uint16_t port)
{
	struct process_route route = { .port = port };

	address(who, route.mac, &route.ipv4);
	return route;
}

static void *map_port(void *at, int file, unsigned number)
{
	void *memory = mmap(at, PORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), file,
	                    (off_t)number * PORT_SIZE);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static bool pass(void)
{
	bool moved = forward_pass(&root, now);

	for (unsigned i = 0; i < LOWERS; i++)
		moved |= !stopped[i] && forward_pass(&lower[i], now);
	return moved;
}

static bool last_pass(void)
{
	bool moved = forward_last_pass(&root, now);

	for (unsigned i = 0; i < LOWERS; i++)
		moved |= !stopped[i] && forward_last_pass(&lower[i], now);
	return moved;
}

/* Until nothing moves. A frame in a circle would keep this from ending. */
static void run(void)
{
	unsigned passes = 0;

	do
		while (pass())
			CHECK(++passes < 10000);
	while (last_pass());
}

/* The last port of a lower switch is the memory of its port at the root. */
static void set_up(void)
{
	const struct process_port of_root[ROOT_PORTS] = { { .uplink = 1 }, port_for(A), { .lower = 1 },
	                                                  { .lower = 1, .remote = 1 } };
	const struct process_route routes[] = { route_to(B, 2), route_to(C, 2), route_to(D, 3), route_to(E, 3) };
	int file = memfd_create("ports", 0);

	CHECK(file >= 0 && !ftruncate(file, (ROOT_PORTS + LOWERS * LOWER_PORTS) * PORT_SIZE));
	root_memory = mmap(NULL, ROOT_PORTS * PORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(root_memory != MAP_FAILED);
	forward_init(&root, of_root, ROOT_PORTS, root_memory, TIMEOUT, 2);
	forward_routes(&root, routes, 4);
	station[OUTSIDE] = port_open(root_memory, PORT_TO_SWITCH, 2);
	station[A] = port_open(root_memory + PORT_SIZE, PORT_TO_SWITCH, 2);
	for (unsigned i = 0; i < LOWERS; i++) {
		const struct process_port ports[LOWER_PORTS] = { port_for(B + 2 * i), port_for(C + 2 * i),
		                                                 { .upper = 1 } };

		lower_memory[i] = mmap(NULL, LOWER_PORTS * PORT_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (unsigned k = 0; k < LOWER_PORTS; k++)
			map_port(lower_memory[i] + k * PORT_SIZE, file,
			         k == UPPER ? 2 + i : ROOT_PORTS + LOWER_PORTS * i + k);
		forward_init(&lower[i], ports, LOWER_PORTS, lower_memory[i], TIMEOUT, 2);
		station[B + 2 * i] = port_open(lower_memory[i], PORT_TO_SWITCH, 2);
		station[C + 2 * i] = port_open(lower_memory[i] + PORT_SIZE, PORT_TO_SWITCH, 2);
		stopped[i] = false;
	}
	close(file);
	for (unsigned turn = 0; turn < 3; turn++) {
		run();
		for (unsigned i = 0; i < STATIONS; i++)
			port_poll(&station[i]);
	}
	for (unsigned i = 0; i < STATIONS; i++)
		CHECK(station[i].up);
}

static void tear_down(void)
{
	munmap(root_memory, ROOT_PORTS * PORT_SIZE);
	for (unsigned i = 0; i < LOWERS; i++)
		munmap(lower_memory[i], LOWER_PORTS * PORT_SIZE);
}

static bool send_frame(unsigned from, const uint8_t *frame, uint32_t length)
{
	void *buffer = port_reserve(&station[from]);

	if (!buffer)
		return false;
	memcpy(buffer, frame, length);
	port_publish(&station[from], length);
	return true;
}

/* `mark` tells frames apart. */
static bool send_mac(unsigned from, const uint8_t *to, uint32_t mark)
{
	uint8_t frame[60] = { 0 };
	uint32_t ipv4;

	memcpy(frame, to, 6);
	address(from, frame + 6, &ipv4);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_IPV4);
	memcpy(frame + 40, &mark, 4);
	return send_frame(from, frame, sizeof(frame));
}

static bool send_to(unsigned from, unsigned to, uint32_t mark)
{
	uint8_t mac[6];
	uint32_t ipv4;

	address(to, mac, &ipv4);
	return send_mac(from, mac, mark);
}

/* An ARP request, for the target or, to announce it, for its own address. */
static void ask(unsigned from, uint32_t target, bool announce)
{
	uint8_t frame[ARP_FRAME] = { 0 };
	uint32_t ipv4;

	memset(frame, 0xff, 6);
	address(from, frame + 6, &ipv4);
	store_be16(frame + ETHERTYPE_OFFSET, ETHERTYPE_ARP);
	memcpy(frame + 14, (const uint8_t[]){ 0, 1, 8, 0, 6, 4 }, 6);
	store_be16(frame + ARP_OPERATION_OFFSET, ARP_REQUEST);
	memcpy(frame + 22, frame + 6, 6);
	memcpy(frame + 28, &ipv4, 4);
	memcpy(frame + ARP_TARGET_IP_OFFSET, announce ? &ipv4 : &target, 4);
	CHECK(send_frame(from, frame, sizeof(frame)));
}

/* The mark of the next frame, or -1. */
static int64_t take(unsigned at)
{
	uint32_t length, mark;
	uint8_t *frame = port_peek(&station[at], &length);

	if (!frame)
		return -1;
	memcpy(&mark, frame + 40, 4);
	port_release(&station[at]);
	return mark;
}

/* Takes all frames, and says how many there were. */
static unsigned waiting(unsigned at)
{
	unsigned count = 0;

	while (take(at) >= 0)
		count++;
	return count;
}

/* After a run each station of `set` has one frame, no other has any. */
static void check_at(unsigned set)
{
	run();
	for (unsigned i = 0; i < STATIONS; i++)
		CHECK(waiting(i) == (set >> i & 1));
}

/* --- scenarios --- */

static void unicast(void)
{
	static const uint8_t unknown[6] = { 2, 9, 9, 9, 9, 9 }, nobody[6] = { 0 };

	for (unsigned from = 0; from < STATIONS; from++) {
		for (unsigned to = A; to < STATIONS; to++) {
			CHECK(send_to(from, to, to));
			check_at(from == to ? 0 : 1u << to);
		}
		CHECK(send_mac(from, unknown, 1)); /* up to the outside, and never back */
		check_at(from == OUTSIDE ? 0 : 1 << OUTSIDE);
		CHECK(send_mac(from, nobody, 1)); /* no switch is a station */
		check_at(from == OUTSIDE ? 0 : 1 << OUTSIDE);
	}
}

static void groups(void)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 }, group[6] = { 1, 0, 0x5e, 0, 0, 1 };

	for (unsigned from = 0; from < STATIONS; from++) {
		CHECK(send_mac(from, all, 1));
		check_at(ALL & ~(1u << from));
		CHECK(send_mac(from, group, 1));
		check_at(ALL & ~(1u << from));
	}
}

static void questions(void)
{
	uint8_t mac[6];
	uint32_t ipv4;

	for (unsigned from = 0; from < STATIONS; from++) {
		for (unsigned target = A; target < STATIONS; target++) {
			address(target, mac, &ipv4);
			ask(from, ipv4, from == target);
			check_at(from == target ? ALL & ~(1u << from) : 1u << target);
		}
		ask(from, 0x6300000a, false);
		check_at(from == OUTSIDE ? 0 : 1 << OUTSIDE);
	}
}

/* A station that the root believes to be there, and the lower switch does not know. */
static void a_wrong_route(void)
{
	struct process_route wrong = route_to(77, 2);

	forward_routes(&root, &wrong, 1);
	CHECK(send_mac(A, wrong.mac, 1));
	check_at(0);
	CHECK(lower[0].port[UPPER].strays == 1);
}

static void back_pressure(void)
{
	unsigned sent = 0, got = 0, passed = 0;

	stopped[0] = true;
	while (send_to(A, B, sent))
		sent++;
	run();
	while (send_to(A, B, sent))
		sent++;
	run();
	CHECK(sent == 2 * PORT_SLOTS && !root.dropped);
	stopped[0] = false;
	for (; got < sent; got++) { /* b takes one at a time: the lower switch waits for it, and the root for that */
		run();
		CHECK(take(B) == got);
		passed += send_to(D, E, got);
		run();
		CHECK(waiting(E) == 1);
	}
	CHECK(!root.dropped && !lower[0].dropped && take(B) < 0 && passed == sent);
}

/* A lower switch stops: frames of others are delayed for 1/8 of the timeout at most, and none of them is lost. */
static void stops(void)
{
	unsigned got[STATIONS] = { 0 }, most = 8 * PORT_SLOTS;
	int64_t mark;

	stopped[0] = true;
	for (unsigned i = 0; i < most; i++) {
		now += TIMEOUT / 512;
		send_to(OUTSIDE, C, i);
		send_to(A, B, i);
		CHECK(send_to(D, B, i) && send_to(E, A, i) && send_to(E, OUTSIDE, i));
		run();
		for (unsigned k = OUTSIDE; k <= A; k++) {
			while ((mark = take(k)) >= 0)
				CHECK(mark == got[k]++);
			CHECK(got[k] + 512 / 8 >= i);
		}
	}
	CHECK(got[OUTSIDE] == most && got[A] == most && root.port[2].late && root.port[2].dropped);
	CHECK(!root.port[0].dropped && !root.port[1].dropped && !root.port[3].dropped);
	stopped[0] = false;
	for (unsigned i = B; i <= C; i++) /* first what its ring and the backlog have */
		do
			run();
		while (waiting(i));
	CHECK(send_to(A, B, 1) && send_to(B, A, 2));
	run();
	CHECK(take(B) == 1 && take(A) == 2);
}

/* The root stops: those behind one lower switch still reach each other. */
static void alone(void)
{
	for (unsigned i = 0; i < 4 * PORT_SLOTS; i++) {
		now += TIMEOUT / 256;
		send_to(B, A, i);
		CHECK(send_to(C, B, i));
		while (forward_pass(&lower[0], now))
			;
		CHECK(take(B) == i);
	}
	CHECK(lower[0].port[UPPER].late && lower[0].port[UPPER].dropped);
}

/* --- ends --- */

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
static void an_end(void)
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
static void an_end_of_all(void)
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
static void its_own_end(void)
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
static void given_up(void)
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
static void cut_off(void)
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
static void an_end_while_cut_off(void)
{
	const struct forward_port *upper = &lower[0].port[UPPER];

	send_segment(A, B, 1000, REDIS, PUSH | ACK);
	port_close((struct port_epochs *)((char *)upper->end.memory + PORT_EPOCHS), PORT_FROM_SWITCH);
	port_close((struct port_epochs *)((char *)lower[0].port[0].end.memory + PORT_EPOCHS), PORT_TO_SWITCH);
	while (forward_last_pass(&lower[0], now))
		;
	CHECK(lower[0].port[0].resets_sent && !lower[0].reset_queue.count && !lower[0].behind && !lower[0].deadline);
}

int main(void)
{
	void (*const test[])(void) = {
		unicast, groups, questions, a_wrong_route, back_pressure, stops, alone, an_end, an_end_of_all,
		its_own_end, given_up, cut_off, an_end_while_cut_off,
	};

	for (unsigned i = 0; i < sizeof(test) / sizeof(test[0]); i++) {
		set_up();
		test[i]();
		tear_down();
	}
	return 0;
}
