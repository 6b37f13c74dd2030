/* SPDX-License-Identifier: BSD-2-Clause */
/* The switch's counters: after each step all of all ports are compared, so that none counts what it does not name. */
#include "switch-ports.h"

/* Counters of each port in the order of `names`; `lost` and `all` are the switch's own. */
enum counter { FRAMES, DELIVERED, BAD, STRAYS, MISSED, DROPPED, COUNTERS };
static uint64_t expected[PORTS][COUNTERS], lost, all;

static void start(void)
{
	set_up();
	memset(expected, 0, sizeof(expected));
	lost = all = 0;
}

static uint64_t counted(unsigned number, enum counter counter)
{
	const struct forward_port *port = &forward.port[number];

	return (uint64_t[]){ port->frames, port->delivered, port->bad, port->strays, port->missed,
	                     port->dropped }[counter];
}

static void check(void)
{
	static const char *const names[] = { "frames", "delivered", "bad", "strays", "missed", "dropped" };
	bool right = forward.lost_answers == lost && forward.dropped == all;

	for (unsigned i = 0; i < PORTS; i++)
		for (enum counter k = 0; k < COUNTERS; k++)
			if (counted(i, k) != expected[i][k]) {
				fprintf(stderr, "port %u, %s: %llu\n", i, names[k], (unsigned long long)counted(i, k));
				right = false;
			}
	CHECK(right);
}

static void pass_and_check(void)
{
	pass_until_quiet();
	check();
}

/* Fills the ring of port `to`. */
static void fill(unsigned from, unsigned to)
{
	for (unsigned i = 0; i < PORT_SLOTS; i++)
		CHECK(send_to(from, table[to].mac, i, 60));
	expected[from][FRAMES] += PORT_SLOTS;
	expected[to][DELIVERED] += PORT_SLOTS;
	pass_and_check();
}

/* Frames that arrive, lie, or have nowhere to go. */
static void passed_on(void)
{
	static const uint8_t unknown[6] = { 2, 9, 9, 9, 9, 9 }, everybody[6] = { 255, 255, 255, 255, 255, 255 };

	start();
	check();
	for (unsigned i = 0; i < 7; i++)
		CHECK(send_to(1, table[2].mac, i, 60));
	expected[1][FRAMES] += 7;
	expected[2][DELIVERED] += 7;
	pass_and_check();

	CHECK(send_to(3, unknown, 1, 60));
	expected[3][FRAMES]++;
	expected[UPLINK][DELIVERED]++;
	CHECK(send_to(UPLINK, unknown, 1, 60)); /* a stray has been passed on to nobody */
	expected[UPLINK][FRAMES]++;
	expected[UPLINK][STRAYS]++;
	CHECK(send_to(3, table[3].mac, 1, 60));
	expected[3][FRAMES]++;
	expected[3][STRAYS]++;
	pass_and_check();

	CHECK(port_reserve(&stack[3]));
	port_publish(&stack[3], PORT_FRAME_MAX + 1);
	expected[3][BAD]++; /* and is no frame */
	pass_and_check();

	CHECK(send_to(2, everybody, 1, 60));
	expected[2][FRAMES]++;
	for (unsigned i = 0; i < PORTS; i++)
		expected[i][DELIVERED] += i != 2;
	pass_and_check();
}

/* Without a network driver there is nowhere else: an unknown address is nobody's. */
static void without_an_uplink(void)
{
	start();
	table[UPLINK].uplink = false;
	forward_init(&forward, table, PORTS, memory, TIMEOUT, 4);
	forward_meet(&forward, stack, PORTS, now);
	CHECK(send_to(1, (uint8_t[6]){ 2, 9, 9, 9, 9, 9 }, 1, 60));
	expected[1][FRAMES]++;
	expected[1][STRAYS]++;
	pass_and_check();
}

/* Port 2 takes nothing: a broadcast misses it; for `timeout` frames for it wait, then they are dropped. */
static void dropped(void)
{
	start();
	fill(1, 2);
	CHECK(send_to(3, (uint8_t[6]){ 255, 255, 255, 255, 255, 255 }, 1, 60));
	expected[3][FRAMES]++;
	expected[2][MISSED]++;
	expected[UPLINK][DELIVERED]++;
	expected[1][DELIVERED]++;
	pass_and_check();
	received_anything();
	fill(1, 2);

	for (unsigned i = 0; i < 5; i++) /* these wait in their ring */
		CHECK(send_to(3, table[2].mac, i, 60));
	pass_and_check();
	CHECK(send_to(3, table[UPLINK].mac, 5, 60)); /* and now in the backlog */
	expected[3][FRAMES] += 6;
	expected[UPLINK][DELIVERED]++;
	pass_and_check();
	CHECK(backlog_count(&forward.backlog, 2) == 5);
	now += TIMEOUT;
	CHECK(send_to(3, table[2].mac, 6, 60));
	expected[3][FRAMES]++;
	expected[2][DROPPED] += 6;
	all += 6;
	pass_and_check();
	CHECK(!forward.backlog.held[3][2] && forward.backlog.free == BACKLOG_FRAMES);
}

/* The program at port 2 ends while its backlog holds frames; its peer at port 1 has no room for what the switch
 * answers. */
static void ended(void)
{
	start();
	for (unsigned i = 0; i < PORT_SLOTS + 5; i++) {
		CHECK(send_to(3, table[2].mac, i, 60) && send_to(3, table[UPLINK].mac, i, 60));
		pass_until_quiet();
		received_anything_at(UPLINK);
	}
	expected[3][FRAMES] += 2 * (PORT_SLOTS + 5);
	expected[2][DELIVERED] += PORT_SLOTS;
	expected[UPLINK][DELIVERED] += PORT_SLOTS + 5;
	check();
	end(2);
	expected[2][DROPPED] += 5;
	all += 5;
	pass_and_check();

	fill(3, 1);
	forward.backlog.free = 0; /* others have all of the pool */
	for (unsigned i = 0; i < 3; i++) {
		send_segment(1, 2, 1000, 6379, 100, 500, 0x18, 20);
		expected[1][FRAMES]++;
		lost++;
		pass_and_check();
	}
	received_anything_at(1);
	send_segment(1, 2, 1000, 6379, 100, 500, 0x18, 20);
	expected[1][FRAMES]++;
	expected[1][DELIVERED]++;
	pass_and_check();
}

/* Port 2 had connections with a stack that takes nothing: their resets are given up after `timeout`. */
static void not_told(void)
{
	start();
	for (uint16_t i = 0; i < 3; i++)
		send_segment(1, 2, 1000 + i, 6379, 100, 500, 0x18, 20);
	expected[1][FRAMES] += 3;
	expected[2][DELIVERED] += 3;
	pass_and_check();
	fill(3, 1);
	forward.backlog.free = 0; /* others have all of the pool */
	end(2);
	pass_and_check();
	now += TIMEOUT - 1;
	pass_and_check();
	now++;
	expected[2][MISSED] += 3;
	pass_and_check();
}

int main(void)
{
	passed_on();
	without_an_uplink();
	dropped();
	ended();
	not_told();
	return 0;
}
