/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of turns. Cores are played by adding to their counts what QEMU's generated code would add. */
#include <string.h>
#include "event_queue.h"
#include "test-common.h"

static struct event_queue event_queue;
static struct count count[MOST_CORES];

static void start(unsigned core, uint64_t when)
{
	if (core >= event_queue.count)
		queue_add(&event_queue, core, &count[core]);
	EXPECT(queue_expect(&event_queue, core, when), 1);
	event_queue.core[core].state = RUNS; /* as if it had had a turn */
}

static void begin(unsigned cores)
{
	memset(&event_queue, 0, sizeof(event_queue));
	memset(count, 0, sizeof(count));
	event_queue.quantum = 10;
	for (unsigned i = 0; i < cores; i++)
		start(i, 0);
}

/* The core that goes next executes until it is called back. Returns it. */
static int run(uint64_t *limit)
{
	int next = queue_next(&event_queue, limit);
	if (next == NOBODY || next == EVENTS)
		return next;
	struct runner *core = &event_queue.core[next];
	queue_limit(core, *limit);
	while (core->count->used < LIMIT)
		core_charge(core, 3 + (unsigned)next);
	return next;
}

/* No core is ever further ahead of another than the quantum and its own last step. */
static void in_order(void)
{
	uint64_t limit, turns[5] = { 0 };
	begin(5);
	for (unsigned i = 0; i < 10000; i++) {
		int core = run(&limit);
		turns[core]++;
		uint64_t least = UINT64_MAX, most = 0;
		for (unsigned k = 0; k < 5; k++) {
			uint64_t clock = clock_of(&event_queue.core[k]);
			least = clock < least ? clock : least;
			most = clock > most ? clock : most;
		}
		EXPECT(most - least <= event_queue.quantum + 3 + 4, 1);
	}
	for (unsigned k = 0; k < 5; k++)
		EXPECT(turns[k] > 1000, 1);
}

/* Without a quantum the core with the least (moment, number) acts first: at one moment the lesser number. */
static void exact_order(void)
{
	uint64_t limit, clock = 0, steps = 0;
	unsigned number = 0;
	begin(5);
	event_queue.quantum = 0;
	for (unsigned turn = 0; turn < 10000; turn++) {
		int next = queue_next(&event_queue, &limit);
		struct runner *core = &event_queue.core[next];
		queue_limit(core, limit);
		for (; core->count->used < LIMIT; core_charge(core, 2), steps++) {
			EXPECT(clock_of(core) < clock || (clock_of(core) == clock && (unsigned)next < number), 0);
			clock = clock_of(core);
			number = (unsigned)next;
		}
	}
	EXPECT(steps >= 10000, 1); /* each turn has some */
	EXPECT(queue_until(&event_queue, 0, 1), clock_of(&event_queue.core[1]) + 1);
	EXPECT(queue_until(&event_queue, 1, 0), clock_of(&event_queue.core[0]));
}

static void alone_it_is_not_held(void)
{
	uint64_t limit;
	begin(1);
	EXPECT(queue_next(&event_queue, &limit), 0);
	EXPECT(limit, UINT64_MAX);
}

static void halted(void)
{
	uint64_t limit;
	begin(2);
	queue_halt(&event_queue, 0);
	for (unsigned i = 0; i < 10; i++)
		EXPECT(run(&limit), 1);
	uint64_t now = clock_of(&event_queue.core[1]);
	EXPECT(queue_now(&event_queue), now);
	start(0, now);
	EXPECT(clock_of(&event_queue.core[0]), now);
	EXPECT(event_queue.core[0].idle, now);
	queue_halt(&event_queue, 0);
	queue_halt(&event_queue, 1);
	EXPECT(queue_next(&event_queue, &limit), NOBODY);
	EXPECT(queue_now(&event_queue), now); /* time stands */
}

/* The one to which an interrupt goes has its turn from when it arrives, though its thread is not there yet. */
static void expected(void)
{
	uint64_t limit;
	begin(2);
	queue_halt(&event_queue, 1);
	EXPECT(queue_expect(&event_queue, 0, 500), 0); /* it runs */
	EXPECT(queue_expect(&event_queue, 1, 500), 1);
	EXPECT(queue_expect(&event_queue, 1, 600), 0); /* the first interrupt counts */
	EXPECT(queue_expect(&event_queue, 1, 400), 1); /* which may be sent last */
	EXPECT(clock_of(&event_queue.core[1]), 400);
	EXPECT(event_queue.core[1].idle, 400);
	queue_halt(&event_queue, 1);
	EXPECT(queue_expect(&event_queue, 1, 500), 1);
	while (queue_next(&event_queue, &limit) == 0) {
		EXPECT(limit, 511); /* at the same moment core 0 is first */
		run(&limit);
	}
	EXPECT(clock_of(&event_queue.core[0]) >= 500, 1);
	EXPECT(event_queue.core[1].state, RUNS); /* however late its thread comes */
	EXPECT(clock_of(&event_queue.core[1]), 500);
	EXPECT(event_queue.core[1].idle, 500);
	EXPECT(queue_expect(&event_queue, 1, 9999), 0);
	/* an interrupt that was sent before the core halted does not turn its clock back */
	queue_halt(&event_queue, 1);
	EXPECT(queue_expect(&event_queue, 1, 400), 1);
	EXPECT(clock_of(&event_queue.core[1]), 500);
}

static void parked(void)
{
	uint64_t limit;
	begin(2);
	while (clock_of(&event_queue.core[1]) < 70)
		core_charge(&event_queue.core[1], 7);
	queue_park(&event_queue, 1, 8, 0, 1000);
	EXPECT(run(&limit), 0);
	queue_unpark(&event_queue, 1, 100, 0); /* it goes on where its loop would look next: 70 + 4 * 8 */
	EXPECT(clock_of(&event_queue.core[1]), 102);
	EXPECT(event_queue.core[1].state, RUNS);
	queue_unpark(&event_queue, 1, 500, 0); /* it would have seen the first */
	EXPECT(clock_of(&event_queue.core[1]), 102);
	queue_unpark(&event_queue, 1, 80, 0); /* one that takes a line earlier comes later: it has not had its turn */
	EXPECT(clock_of(&event_queue.core[1]), 86);
	while (run(&limit) != 1)
		;
	queue_unpark(&event_queue, 1, 70, 0); /* now it has */
	uint64_t now = clock_of(&event_queue.core[1]);
	EXPECT(now >= 86, 1);
	queue_park(&event_queue, 1, 8, 0, 1000);
	queue_unpark(&event_queue, 1, 50, 0); /* taken before it looked */
	EXPECT(clock_of(&event_queue.core[1]), now);
}

/* Parked at 0 it looks at 5, 13, 21, ...: what is taken at 21 it sees in the loop that begins at 16. */
static void looks_within_its_loop(void)
{
	static const uint64_t taken[] = { 3, 5, 6, 13, 14, 21, 22 }, begins[] = { 0, 0, 8, 8, 16, 16, 24 };
	for (unsigned i = 0; i < 7; i++) {
		begin(2);
		queue_park(&event_queue, 1, 8, 5, 1000);
		queue_unpark(&event_queue, 1, taken[i], 5);
		EXPECT(clock_of(&event_queue.core[1]), begins[i]);
	}
}

/* Whatever happens it looks again in the end: nobody runs, or it has waited for long enough. */
static void timeout(void)
{
	uint64_t limit;
	begin(2);
	queue_park(&event_queue, 1, 8, 0, 1000);
	while (event_queue.core[1].state == PARKED)
		EXPECT(run(&limit) >= 0, 1);
	EXPECT(clock_of(&event_queue.core[1]) > 1000, 1);
	EXPECT(clock_of(&event_queue.core[1]) % 8, 0);
	queue_park(&event_queue, 1, 8, 0, 1000);
	queue_halt(&event_queue, 0);
	EXPECT(run(&limit), 1);
}

/* QEMU's event loop has its turn at its moment, and no core runs past it. */
static void events(void)
{
	uint64_t limit;
	begin(2);
	event_queue.events = 300;
	EXPECT(run(&limit) == EVENTS, 0);
	EXPECT(limit, 11); /* the machine has not started: its timers wait */
	event_queue.started = true;
	int next;
	while ((next = run(&limit)) != EVENTS)
		EXPECT(limit <= 300, 1);
	EXPECT(event_queue.events_clock, 300);
	EXPECT(event_queue.events, NEVER);
	EXPECT(queue_now(&event_queue) >= 300 && queue_now(&event_queue) < 310, 1);
	event_queue.events = 200; /* of the past: time does not go back */
	EXPECT(run(&limit), EVENTS);
	EXPECT(event_queue.events_clock, 300);
}

/* All cores are halted: the next timer's moment is there at once, and the core that it wakes has been idle until
 * then. */
static void idle_until_timer(void)
{
	uint64_t limit;
	begin(2);
	event_queue.started = true;
	queue_halt(&event_queue, 0);
	queue_halt(&event_queue, 1);
	event_queue.events = 123456789;
	EXPECT(run(&limit), EVENTS);
	EXPECT(queue_now(&event_queue), 123456789);
	EXPECT(queue_expect(&event_queue, 1, event_queue.events_clock), 1);
	EXPECT(run(&limit), 1);
	EXPECT(event_queue.core[1].idle, 123456789);
	EXPECT(event_queue.core[0].idle, 0);
	/* a core that waits in a loop looks before a timer that comes later than its loop takes */
	queue_park(&event_queue, 1, 8, 0, 1000);
	event_queue.events = clock_of(&event_queue.core[1]) + 50000;
	EXPECT(run(&limit), 1);
}

/* The next core and its limit, on many cores that run, halt and are woken, beside a look at each of them. */
static void beside_a_scan(unsigned cores)
{
	uint64_t seed = 88172645463325252ull;
	begin(cores);
	event_queue.quantum = 0;
	for (unsigned step = 0; step < 20000; step++) {
		uint64_t limit, first = NEVER, second = NEVER;
		unsigned least = 0, next = 0;
		for (unsigned i = 0; i < cores; i++) {
			uint64_t clock = clock_of(&event_queue.core[i]);
			bool has = event_queue.core[i].state == RUNS || event_queue.core[i].state == EXPECTED;
			if (has && clock < first) {
				second = first, next = least;
				first = clock, least = i;
			} else if (has && clock < second) {
				second = clock, next = i;
			}
		}
		int got = queue_next(&event_queue, &limit);
		EXPECT(got, first == NEVER ? NOBODY : (int)least);
		EXPECT(first == NEVER || limit == (second == NEVER ? NEVER : second + (least < next)), 1);
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		unsigned any = (unsigned)(seed >> 20) % cores;
		if (got != NOBODY) {
			queue_limit(&event_queue.core[got], limit);
			core_charge(&event_queue.core[got], seed % 40);
			if (seed >> 60 == 0)
				queue_halt(&event_queue, (unsigned)got);
		}
		if (event_queue.core[any].state == HALTED && (got == NOBODY || (seed >> 58) % 4 == 0))
			queue_expect(&event_queue, any, queue_now(&event_queue) + seed % 100);
	}
}

int main(void)
{
	beside_a_scan(1);
	beside_a_scan(3);
	beside_a_scan(65);
	beside_a_scan(MOST_CORES);
	in_order();
	exact_order();
	alone_it_is_not_held();
	halted();
	expected();
	parked();
	looks_within_its_loop();
	timeout();
	events();
	idle_until_timer();
	return 0;
}
