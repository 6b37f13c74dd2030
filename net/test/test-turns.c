/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources that compete for the room of one slow port take turns: each gets its share, however many they are, at
 * whichever ports, and whenever they begin; a source that sends little waits for one turn of each other one at most.
 */
#include "slow-ports.h"

enum { TICKS = 2000 };

static bool sends(unsigned sources, unsigned port) { return sources >> port & 1; }

/* How many frames of this source's the switch has passed on, and between the source with most of those and that with
 * fewest. */
static uint64_t passed[PORTS];
static uint64_t spread(unsigned sources)
{
	uint64_t most = 0, fewest = UINT64_MAX;

	for (unsigned i = 0; i < PORTS; i++) {
		const uint64_t frames = forward.port[i].frames - passed[i];

		if (!sends(sources, i))
			continue;
		most = frames > most ? frames : most;
		fewest = frames < fewest ? frames : fewest;
	}
	return most - fewest;
}

static void count_from_now(void)
{
	for (unsigned i = 0; i < PORTS; i++)
		passed[i] = forward.port[i].frames;
}

/* All of them flood port `to` until its ring, and theirs, are full. */
static void fill(unsigned sources, unsigned to)
{
	for (unsigned turn = 0; turn < 4; turn++) {
		for (unsigned i = 0; i < PORTS; i++)
			if (sends(sources, i))
				put(i, to, ALL);
		pass();
	}
}

/* For a while, as port `to` takes `rate` frames in each tick, up to all that its ring has. No turn is longer than the
 * room for those. */
static void compete(unsigned sources, unsigned to, unsigned rate)
{
	const unsigned count = (unsigned)__builtin_popcount(sources);

	fill(sources, to);
	count_from_now();
	for (unsigned tick = 0; tick < TICKS; tick++, now++) {
		CHECK(take(to, rate) == rate);
		fill(sources, to);
		CHECK(spread(sources) <= rate);
	}
	for (unsigned i = 0; i < PORTS; i++)
		if (sends(sources, i))
			CHECK(forward.port[i].frames - passed[i] >= (uint64_t)TICKS * rate / count - rate);
	CHECK(!forward.port[to].dropped && forward.backlog.free == BACKLOG_FRAMES);
}

/* Sources at neighbouring ports, around the last one, and any. */
static void many(unsigned rate)
{
	static const unsigned sets[] = { 0xc, 0x1c, 0x54, 0xc04, 0x924, 0x3f0, 0xffc };

	for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		set_up(PORTS);
		compete(sets[i], A, rate);
	}
}

/* One source begins when the others have competed for a while, one ends; those that go on do not pay for it. */
static void begin_and_end(void)
{
	set_up(PORTS);
	compete(1u << B | 1u << C, A, 3);
	compete(1u << B | 1u << C | 1u << 7, A, 3);
	while (take(A, ALL)) /* until nothing is left of the first one, which ends */
		pass();
	compete(1u << C | 1u << 7 | 1u << 5 | 1u << 11, A, 3);
}

/* One source has a frame for the port at a time, the others flood it. */
static void little(unsigned sources, unsigned one, unsigned rate)
{
	const unsigned turns = (unsigned)__builtin_popcount(sources);
	uint64_t waits = 0;

	set_up(PORTS);
	fill(sources, A);
	for (unsigned tick = 0; tick < TICKS; tick++, now++) {
		const uint64_t before = forward.port[one].frames;

		if (before == sent[one][A])
			put(one, A, 1);
		take(A, rate);
		fill(sources, A);
		waits = forward.port[one].frames == before ? waits + 1 : 0;
		CHECK(waits <= turns);
	}
}

/* Two sources flood one port, with and without frames for another; a third source's frames pass at once. */
static void floods_of_two(unsigned others, unsigned rate)
{
	set_up(5);
	for (uint64_t end = now + 5 * SECOND; now < end; now++) {
		unsigned third = sent[UPLINK][4];

		lossy[A] = others > 0;
		for (unsigned i = 0; i < 40; i++) {
			put(B, A, 10);
			put(C, A, 10);
			put(B, 4, others);
		}
		put(UPLINK, 4, 3);
		pass();
		take(4, ALL);
		CHECK(sent[UPLINK][4] == third + 3 && received[UPLINK][4] == third + 3);
		take(A, rate);
	}
	uint64_t b = received[B][A], c = received[C][A], all = 5ull * SECOND * rate;

	if (!others)
		CHECK(!forward.port[A].dropped && b + c >= all * 99 / 100 && b >= all * 49 / 100 &&
		      c >= all * 49 / 100);
}

/* The first source that gets room in a pass has had its turn: the next one is behind it, whatever others have got. */
static void room_for_two(void)
{
	set_up(PORTS);
	fill(1u << C | 1u << 5, A);
	CHECK(forward.behind && put(B, A, 1) == 1);
	forward.first = B;
	take(A, 2);
	pass();
	CHECK(forward.port[B].frames == 1);
	count_from_now();
	take(A, 1);
	pass();
	CHECK(forward.port[C].frames == passed[C] + 1 && forward.port[5].frames == passed[5]);
}

int main(void)
{
	room_for_two();
	for (unsigned rate = 1; rate < PORT_SLOTS; rate = 3 * rate + 1) {
		many(rate);
		floods_of_two(0, rate);
		for (unsigned one = B; one < 7; one++)
			little(0x7c & ~(1u << one), one, rate);
	}
	/* the port is not behind while it is given the first of these */
	for (unsigned rate = FORWARD_BATCH; rate <= PORT_SLOTS; rate += 16)
		many(rate);
	begin_and_end();
	floods_of_two(1, 10);
	return 0;
}
