/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch's forwarding with ports that take their frames slowly or not at all: what others behind the same source
 * still get, and what is lost. With the argument "turns": sources that compete for the room of one slow port take
 * turns. Each gets its share, however many they are, at whichever ports, and whenever they begin; a source that sends
 * little waits for one turn of each other one at most.
 *
 * Ports take as many frames as a test says. Each frame has a number, so that none is lost, doubled or overtaken
 * unnoticed. Time is a counter of ticks, a thousand to a second.
 */
#include <string.h>
#include <sys/mman.h>
#include "../switch/switch.h"
#include "meet.h"
#include "test.h"

enum { PORTS = 12, UPLINK = 0, A, B, C, SECOND = 1000, ALL = 1 << 20 };

static struct forward forward;
static char *memory;
static struct port_end stack[PORTS];
static unsigned ports;
static uint64_t now = 1;
static uint32_t sent[PORTS][PORTS], received[PORTS][PORTS]; /* by source and destination */
static bool lossy[PORTS];                                   /* ports that may miss frames */

static void nobody_wakes(void *context, unsigned port)
{
	(void)context;
	(void)port;
}

static void set_up(unsigned count)
{
	struct process_port table[PORTS];

	ports = count;
	if (memory)
		munmap(memory, PORTS * PORT_SIZE);
	memory = mmap(NULL, PORTS * PORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	for (unsigned i = 0; i < PORTS; i++) {
		table[i] = (struct process_port){ .mac = { 2, 0, 0, 0, 0, (uint8_t)i }, .uplink = i == UPLINK };
		stack[i] = port_open(memory + i * PORT_SIZE, PORT_TO_SWITCH, 2);
	}
	memset(sent, 0, sizeof(sent));
	memset(received, 0, sizeof(received));
	memset(lossy, 0, sizeof(lossy));
	forward_init(&forward, table, count, memory, SECOND, 2);
	forward_meet(&forward, stack, count, 1);
	forward_signal(&forward, nobody_wakes, NULL);
}

/* Sends what the source's ring has room for, each with its number. */
static unsigned put(unsigned from, unsigned to, unsigned count)
{
	unsigned done = 0;
	uint8_t *frame;

	for (; done < count && (frame = port_reserve(&stack[from])); done++) {
		memset(frame, 0, 64);
		frame[0] = frame[6] = 2;
		frame[5] = (uint8_t)to;
		frame[11] = (uint8_t)from;
		memcpy(frame + 14, &sent[from][to], 4);
		sent[from][to]++;
		port_publish(&stack[from], 64);
	}
	return done;
}

/* Takes up to `count` frames, which are in order from each source, and complete but at lossy ports. */
static unsigned take(unsigned at, unsigned count)
{
	uint32_t length, number;
	const uint8_t *frame;
	unsigned done = 0;

	for (; done < count && (frame = port_peek(&stack[at], &length)); done++) {
		unsigned from = frame[11];

		CHECK(length == 64 && frame[5] == at);
		memcpy(&number, frame + 14, 4);
		CHECK(number == received[from][at] || (lossy[at] && number > received[from][at]));
		received[from][at] = number + 1;
		port_release(&stack[at]);
	}
	return done;
}

static void pass(void)
{
	do
		while (forward_pass(&forward, now))
			;
	while (forward_last_pass(&forward, now));
	CHECK(!forward.deadline || forward.deadline > now);
}

static void check_idle(void)
{
	pass();
	CHECK(forward.backlog.free == BACKLOG_FRAMES && !forward.behind && !forward.deadline);
	for (unsigned i = 0; i < ports; i++)
		CHECK(!forward.port[i].late);
}

/* --- slow ports --- */

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

static void slow(void)
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
}

/* --- turns --- */

enum { TICKS = 2000 };

static bool sends(unsigned sources, unsigned port) { return sources >> port & 1; }

/* Frames of each source that the switch had passed on before. spread() is the difference between the source with most
 * of those since, and that with fewest. */
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

/* Competes for a while, as port `to` takes `rate` frames in each tick, up to all that its ring has. No turn is longer
 * than the room for those. */
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

static void turns(void)
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
}

int main(int count, char **arguments)
{
	if (count > 1 && !strcmp(arguments[1], "turns"))
		turns();
	else
		slow();
	return 0;
}
