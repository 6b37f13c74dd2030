/* SPDX-License-Identifier: BSD-2-Clause */
/* Many deadlines on one core. kernel_check() looks at the whole heap after each step. */
#include "check.h"
#include "harness.h"

enum { NOTE = 1000, WAITER = 2000, COUNT = 60 }; /* more than one quantum wakes */
enum { MOMENTS = 24, APART = 10000 };            /* fewer than threads: some are equal */

static struct thread *waiter[COUNT];
static uint64_t start, state;

static uint64_t draw(uint64_t count)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % count;
}

/* `order` becomes a permutation. */
static void shuffle(unsigned order[COUNT])
{
	for (unsigned i = 0; i < COUNT; i++) {
		unsigned j = draw(i + 1);
		order[i] = order[j];
		order[j] = i;
	}
}

static uint64_t moment(unsigned i) { return start + (uint64_t)i * APART; }

/* All wait, in the order of `waiter`, each until some moment; the root task runs. */
static void begin(void)
{
	state = machine->config.seed;
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	for (unsigned i = 0; i < COUNT; i++)
		waiter[i] = make_thread(WAITER + 2 * i, 100, 0);
	root_priority(10);
	start = machine->time + 1000000;
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT(running(0), waiter[i]);
		syscall_on(0, SYS_WAIT, NOTE, 0, W(moment(draw(MOMENTS))), NONE, 0);
	}
	EXPECT(running(0), machine->root);
}

static void go_to(uint64_t time) { hosted_advance(machine, time - machine->time); }

/* Half-way to the moment after: who waited for an earlier one is awake, nobody else. */
static void expect_expired(unsigned at, const bool *cancelled)
{
	go_to(moment(at) + APART / 2);
	settle();
	for (unsigned i = 0; i < COUNT; i++) {
		if (cancelled && cancelled[i])
			continue;
		EXPECT(waiter[i]->state == THREAD_WAITING, waiter[i]->deadline > moment(at));
		EXPECT(waiter[i]->in_timers, waiter[i]->state == THREAD_WAITING);
		if (waiter[i]->state == THREAD_READY)
			EXPECT(result(waiter[i]), SKERRY_TIMED_OUT);
	}
}

static void each_at_its_time(void)
{
	begin();
	for (unsigned at = 0; at < MOMENTS; at++)
		expect_expired(at, 0);
	EXPECT(machine->kernel.cpu[0]->shared.timers, 0);
}

/* All are late: they run by their deadlines, however many entries it takes to wake them. */
static void in_order(void)
{
	uint64_t before = 0;
	begin();
	go_to(moment(MOMENTS));
	settle();
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT(running(0)->deadline >= before, true);
		EXPECT(result(running(0)), SKERRY_TIMED_OUT);
		before = running(0)->deadline;
		simple(0, SYS_WAIT, NOTE);
	}
	EXPECT(running(0), machine->root);
}

static void more_than_a_quantum(void)
{
	unsigned entries = 0, before = 0;
	begin();
	go_to(moment(MOMENTS));
	for (unsigned awake = 0; awake < COUNT; before = awake, entries++) {
		EXPECT(hosted_timer_due(&machine->core[0]), true); /* for those that are left */
		enter_once();
		awake = 0;
		for (unsigned i = 0; i < COUNT; i++)
			awake += waiter[i]->state == THREAD_READY;
		EXPECT(awake > before, true);
		if (machine->kernel.quantum == 1)
			EXPECT(awake, before + 1);
	}
	EXPECT(entries > 1, true);
	settle();
}

/* Suspended in any order; some make their call again. */
static void cancelled_by_suspension(void)
{
	unsigned order[COUNT];
	bool cancelled[COUNT] = { false };
	begin();
	shuffle(order);
	for (unsigned i = 0; i < COUNT / 2; i++) {
		EXPECT(call(WAITER + 2 * order[i], TCB_SUSPEND, NONE, NONE), 0);
		EXPECT(waiter[order[i]]->in_timers, 0);
		cancelled[order[i]] = true;
	}
	for (unsigned i = 0; i < COUNT / 4; i++) {
		EXPECT(call(WAITER + 2 * order[i], TCB_RESUME, NONE, NONE), 0);
		EXPECT(waiter[order[i]]->state, THREAD_WAITING);
		cancelled[order[i]] = false;
	}
	for (unsigned at = 0; at < MOMENTS; at++)
		expect_expired(at, cancelled);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(waiter[i]->state, cancelled[i] ? THREAD_INACTIVE : THREAD_READY);
}

/* Signals end waits in the order in which they began, which is not that of the deadlines. */
static void cancelled_by_signals(void)
{
	begin();
	root_priority(200);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
		EXPECT(waiter[i]->state, THREAD_READY);
		EXPECT(waiter[i]->in_timers, 0);
	}
	EXPECT(machine->kernel.cpu[0]->shared.timers, 0);
	go_to(moment(MOMENTS));
	settle();
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(result(waiter[i]), 0);
}

static void cancelled_all_at_once(void)
{
	begin();
	root_priority(200);
	delete(NOTE);
	EXPECT(machine->kernel.cpu[0]->shared.timers, 0);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(result(waiter[i]), SKERRY_DELETED);
}

const struct test tests[] = {
	{ "deadlines: each at its time", each_at_its_time, 1 },
	{ "deadlines: in order", in_order, 1 },
	{ "deadlines: more than a quantum", more_than_a_quantum, 1 },
	{ "deadlines: cancelled by suspension", cancelled_by_suspension, 1 },
	{ "deadlines: cancelled by signals", cancelled_by_signals, 1 },
	{ "deadlines: cancelled all at once", cancelled_all_at_once, 1 },
	{ 0 },
};
