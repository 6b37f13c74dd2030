/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch's forwarding with ports that take their frames slowly or not at
 * all: what others behind the same source still get, and what is lost.
 */
#include "slow-ports.h"

/* Two frames for each port behind the uplink; those for the first `slow` may be lost. How many there were for the
 * others. */
static unsigned offer(unsigned count, unsigned slow)
{
	unsigned offered = 0;

	for (unsigned i = 1; i < count; i++) {
		unsigned n = put(UPLINK, i, 2);

		lossy[i] = i <= slow;
		if (i > slow)
			offered += n;
	}
	pass();
	return offered;
}

/* The first `slow` ports behind the uplink take a frame a second, the others all: what the others get. */
static void slow_ports(unsigned count, unsigned slow)
{
	unsigned got = 0, offered = 0;

	set_up(count);
	for (uint64_t end = now + 10 * SECOND; now < end; now++) {
		offered += offer(count, slow);
		for (unsigned i = 1; i < count; i++)
			if (i > slow)
				got += take(i, ALL);
			else if (now % SECOND == 0)
				take(i, 1);
	}
	CHECK(offered >= 10 * SECOND * 2 * (count - 1 - slow) * 95 / 100);
	CHECK(got + 2 * PORT_SLOTS >= offered);
	for (unsigned i = 1; i <= slow; i++)
		CHECK(forward.port[i].dropped && forward.port[i].late);
	for (unsigned i = slow + 1; i < count; i++)
		CHECK(!forward.port[i].dropped);
	for (unsigned n = 0; n < 20; n++, now++)
		for (unsigned i = 0; i < count; i++) {
			take(i, ALL);
			pass();
		}
	check_idle();
}

/* Ports that stop until frames for them are dropped, then take all at once, again and again. */
static void teasing_ports(unsigned slow, unsigned percent)
{
	unsigned offered = 0, count = slow + 2;
	uint64_t dropped[PORTS] = { 0 };

	set_up(count);
	for (uint64_t end = now + 20 * SECOND; now < end; now++) {
		offered += offer(count, slow);
		take(slow + 1, ALL);
		for (unsigned i = 1; i <= slow; i++)
			if (forward.port[i].dropped > dropped[i]) {
				take(i, ALL);
				pass();
				take(i, ALL);
				dropped[i] = forward.port[i].dropped;
			}
	}
	CHECK(offered >= 20 * SECOND * 2 * percent / 100);
	CHECK(!forward.port[slow + 1].dropped);
}

/* A port that nobody serves: others wait for it once and briefly; then its frames are dropped at once. */
static void dead_port(void)
{
	uint64_t start = now, longest = 0;

	set_up(4);
	lossy[A] = true;
	for (unsigned step = 0; now < start + 3 * SECOND; now++, step++) {
		put(UPLINK, A, 4);
		if (put(UPLINK, B, 1))
			longest = now;
		CHECK(now - longest <= SECOND / 8 + 1);
		pass();
		take(B, ALL);
	}
	CHECK(forward.port[A].dropped && forward.backlog.free == BACKLOG_FRAMES && !forward.port[B].dropped);
	pass();
	CHECK(received[UPLINK][B] == sent[UPLINK][B]);
	CHECK(sent[UPLINK][A] == forward.port[A].dropped + PORT_SLOTS);
	for (unsigned i = 1; i <= 100; i++, now++) { /* with nobody behind them either */
		uint64_t dropped = forward.port[A].dropped;

		CHECK(put(UPLINK, A, 20) == 20);
		pass();
		CHECK(forward.port[A].dropped == dropped + 20 && !forward.deadline);
	}
	CHECK(take(A, ALL) == PORT_SLOTS); /* it lives after all */
	pass();
	check_idle();
	lossy[A] = true;
	CHECK(put(UPLINK, A, PORT_SLOTS - 10) == PORT_SLOTS - 10);
	pass();
	CHECK(take(A, ALL) == PORT_SLOTS - 10);
}

/* A port that nobody serves and nobody waits behind: its source waits for one timeout. */
static void timeout(void)
{
	uint64_t start = now, dropped;

	set_up(3);
	lossy[A] = true;
	put(UPLINK, A, PORT_SLOTS);
	pass();
	put(UPLINK, A, 3);
	pass();
	CHECK(forward.deadline == start + SECOND && forward.backlog.free == BACKLOG_FRAMES);
	now = start + SECOND - 1;
	pass();
	CHECK(forward.deadline == start + SECOND && !forward.port[A].dropped);
	now = start + SECOND;
	pass();
	CHECK(forward.port[A].dropped == 3 && !forward.deadline);
	now += SECOND;
	put(UPLINK, A, 2);
	pass();
	dropped = forward.port[A].dropped;
	CHECK(dropped == 5);

	CHECK(take(A, 3) == 3); /* it lives, but is late until its ring is half empty */
	put(UPLINK, A, 10);
	put(UPLINK, B, 1);
	pass();
	CHECK(take(B, ALL) == 1 && forward.port[A].late && !forward.deadline);
	take(A, ALL);
	pass();
	take(A, ALL);
	check_idle();
	put(UPLINK, A, PORT_SLOTS);
	pass();
	put(UPLINK, A, 1);
	pass();
	CHECK(forward.deadline == now + SECOND); /* timeout begins anew */
	take(A, ALL);
	pass();
	take(A, ALL);
}

/* A port that sleeps for a while: what comes in the meantime is held, and the others see nothing of it. */
static void bursts(unsigned burst, unsigned ticks, bool others_wait)
{
	set_up(4);
	for (unsigned round = 0; round < 10; round++) {
		uint64_t wakes = now + ticks;
		unsigned left = burst;

		for (; left || now <= wakes; now++) {
			unsigned n = put(UPLINK, A, left < 40 ? left : 40);

			left -= n;
			put(UPLINK, B, 1);
			pass();
			take(B, ALL);
			CHECK(others_wait || received[UPLINK][B] == sent[UPLINK][B]);
			if (now >= wakes)
				take(A, 100);
		}
		for (unsigned i = 0; i < 40; i++, now++) {
			pass();
			take(A, 100);
			take(B, ALL);
		}
		CHECK(received[UPLINK][A] == burst * (round + 1) && received[UPLINK][B] == sent[UPLINK][B]);
		check_idle();
		now += SECOND;
	}
}

/* A dead port's backlog leaves room for the burst to another, in time and in memory. */
static void bursts_beside_a_dead_port(void)
{
	set_up(4);
	lossy[A] = true;
	for (unsigned i = 0; i < 400; i++, now++) {
		put(UPLINK, A, 4);
		put(UPLINK, B, 1);
		pass();
		take(B, ALL);
	}
	CHECK(backlog_count(&forward.backlog, A) > 300 && forward.port[A].late);
	for (unsigned i = 0; i < 20; i++, now++) {
		CHECK(put(UPLINK, C, 16) == 16 && put(UPLINK, B, 1) == 1);
		pass();
		take(B, ALL);
		CHECK(received[UPLINK][B] == sent[UPLINK][B]);
	}
	for (unsigned i = 0; i < 20; i++, now++) {
		take(C, ALL);
		pass();
	}
	CHECK(received[UPLINK][C] == 320 && !forward.port[C].dropped);
}

/* One source floods a port that is slow but keeps up: back-pressure alone, without loss and without a copy. */
static void flood_of_one(void)
{
	set_up(4);
	for (uint64_t end = now + 20 * SECOND; now < end; now++) {
		put(A, B, ALL);
		pass();
		take(B, 1);
		CHECK(forward.backlog.free == BACKLOG_FRAMES);
	}
	CHECK(!forward.port[B].dropped && received[A][B] >= 20 * SECOND - 1);
}

/*
 * A driver or another switch floods a port that takes all it has got once in a while, and has a frame for another one
 * behind more of those than its ring can hold: that frame waits no longer than if the switch saw it.
 */
static void flood_of_many(bool lower)
{
	uint64_t got = now;
	unsigned step = 0;

	set_up(4);
	forward.port[UPLINK].uplink = !lower;
	forward.port[UPLINK].lower = lower;
	lossy[A] = true;
	for (uint64_t end = now + 5 * SECOND; now < end; now++) {
		for (unsigned laps = 0; laps < 3; laps++) {
			while (put(UPLINK, step % 600 ? A : B, 1))
				step++;
			pass();
		}
		if (take(B, ALL))
			got = now;
		CHECK(now - got <= 2 * (SECOND / 8 + 1)); /* a period's wait at its end and the next one's */
		if (now % (SECOND * 9 / 10) == 0)
			take(A, ALL);
	}
	CHECK(forward.port[A].dropped && !forward.port[B].dropped);
}

int main(void)
{
	slow_ports(3, 1);
	for (unsigned slow = 1; slow < PORTS - 1; slow++)
		slow_ports(PORTS, slow);
	teasing_ports(1, 80);
	teasing_ports(9, 65);
	dead_port();
	timeout();
	bursts(420, 100, false);
	bursts(900, 60, true);
	bursts_beside_a_dead_port();
	flood_of_one();
	flood_of_many(false);
	flood_of_many(true);
	return 0;
}
