/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree of switches (tree.h): where frames go, that each arrives once, and that a lower switch which is slow, stopped
 * or dead harms only those behind it.
 */
#include "../switch/ended.h"
#include "test.h"
#include "test-switches.h"
#include "tree.h"

enum { ALL = (1 << STATIONS) - 1 };

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

/* A lower switch stops: frames of others are delayed for 1/8 of the patience at most, and none of them is lost. */
static void stops(void)
{
	unsigned got[STATIONS] = { 0 }, most = 8 * PORT_SLOTS;
	int64_t mark;

	stopped[0] = true;
	for (unsigned i = 0; i < most; i++) {
		now += PATIENCE / 512;
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
		now += PATIENCE / 256;
		send_to(B, A, i);
		CHECK(send_to(C, B, i));
		while (forward_pass(&lower[0], now))
			;
		CHECK(take(B) == i);
	}
	CHECK(lower[0].port[UPPER].late && lower[0].port[UPPER].dropped);
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
