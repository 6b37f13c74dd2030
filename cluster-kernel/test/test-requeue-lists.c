/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wake-ups from another core in a fine kernel of regime `dynamic`: the woken thread enters the requeue list of its core
 * (core/schedule.h). That core is interrupted only where the thread changes what it does, once where it does not, or
 * where the list grows long.
 */
#include "fiber.h"
#include "harness.h"
#include LOCKING_HEADER

enum { CORES = 3, CORE = 1, OTHER_CORE = 2, VICTIM = 1000, SLEEPER = 1010, NOTE = 1050, NEVER = 1051, NOTES = 1100,
       SLEEPERS = 2000, CALLS = 40, STEPS = 1000, MANY = STACK_LONG + 6, HIGH = 200, FAR = 1 << 30 };

static struct thread *victim, *sleeper;

static uint32_t entries(void) { return machine->core[CORE].entries; }

static void place(uint64_t tcb, unsigned priority, unsigned core)
{
	EXPECT(call(tcb, TCB_SCHEDULE, W(priority, core), W(ROOT_SLOT_TCB)), 0);
}

/* The sleeper waits on core 2, and comes to core 1. */
static void sleep_there(unsigned priority, uint64_t deadline)
{
	EXPECT(running(OTHER_CORE), sleeper);
	syscall_on(OTHER_CORE, SYS_WAIT, NOTE, 0, W(deadline), NONE, 0);
	place(SLEEPER, priority, CORE);
	EXPECT(sleeper->state == THREAD_WAITING && sleeper->core == CORE, true);
}

/* Makes threads of priority `each` that wait on core 1. */
static void make_sleepers(unsigned count, unsigned each)
{
	make(OBJECT_NOTIFICATION, 0, NOTES, count);
	for (unsigned i = 0; i < count; i++) {
		make_thread(SLEEPERS + 2 * i, each, OTHER_CORE);
		simple(OTHER_CORE, SYS_WAIT, NOTES + i);
		place(SLEEPERS + 2 * i, each, CORE);
	}
}

/* Core 1 runs the victim, and has been interrupted by a thread of lower priority. */
static bool begin(unsigned priority, uint64_t deadline)
{
	if (!cores_own_queues())
		return false;
	machine->kernel.work_budget = 6000;
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	sleeper = make_thread(SLEEPER, priority, OTHER_CORE);
	victim = make_thread(VICTIM, HIGH, CORE);
	while (order_granularity(GRANULARITY_FINE))
		settle();
	settle();
	sleep_there(priority, deadline);
	make_sleepers(1, 0);
	uint32_t before = entries();
	EXPECT(simple(0, SYS_SIGNAL, NOTES), 0);
	EXPECT(entries() - before, 1);
	delete(NOTES);
	delete(SLEEPERS);
	delete(SLEEPERS + 1);
	EXPECT(running(CORE), victim);
	return true;
}

static void signal_it(void) { EXPECT(simple(0, SYS_SIGNAL, NOTE), 0); }

static void comes_and_goes(uint64_t deadline)
{
	if (!begin(HIGH - 1, deadline))
		return;
	uint32_t before = entries();
	for (unsigned i = 0; i < CALLS; i++) {
		signal_it();
		EXPECT(sleeper->state, THREAD_READY);
		place(SLEEPER, HIGH - 1, OTHER_CORE);
		EXPECT(sleeper->queued || sleeper->in_timers, false);
		sleep_there(HIGH - 1, deadline);
	}
	EXPECT(entries(), before);
	EXPECT(running(CORE), victim);
}

static void one_below_what_runs(void) { comes_and_goes(0); }
static void one_with_a_deadline(void) { comes_and_goes(FAR); }

/* Signals it and has it go elsewhere before its core is interrupted. */
static void signal_and_send_away(void)
{
	const struct hosted_call orders[] = {
		{ .number = SYS_SIGNAL, .cptr = NOTE },
		{ .number = SYS_CALL, .cptr = SLEEPER, .info = message_info(TCB_SCHEDULE, 1, 2),
		  .word = { HIGH, OTHER_CORE } },
	};
	thread_ipc_buffer(running(0))->caps[0] = ROOT_SLOT_TCB;
	for (unsigned i = 0; i < 2; i++) {
		hosted_post_call(machine, 0, &orders[i]);
		for (unsigned steps = 0; !hosted_done(machine, 0) || machine->core[0].inside; steps++) {
			EXPECT(steps < STEPS, true);
			hosted_self = &machine->core[0];
			fiber_resume(&hosted_self->fiber);
			hosted_self = 0;
		}
		EXPECT(result(running(0)), 0);
	}
	settle();
}

/* It runs as soon as nothing of a higher priority does. */
static void what_runs_waits(void)
{
	if (!begin(HIGH - 1, FAR))
		return;
	signal_it();
	EXPECT(sleeper->queued, THREAD_REQUEUED);
	simple(CORE, SYS_WAIT, NEVER);
	EXPECT(running(CORE), sleeper);
}

static void what_runs_is_lowered(void)
{
	if (!begin(HIGH - 1, 0))
		return;
	signal_it();
	place(VICTIM, HIGH - 2, CORE);
	EXPECT(running(CORE), sleeper);
	place(VICTIM, HIGH, CORE);
	EXPECT(running(CORE), victim);
}

/* Its priority says nothing about what runs there while it is in the list, but it may be raised. */
static void it_is_raised(void)
{
	if (!begin(HIGH - 1, 0))
		return;
	signal_it();
	place(SLEEPER, HIGH + 1, CORE);
	EXPECT(running(CORE), sleeper);
}

/* The core begins a time slice all the same. Within it another one comes, and it is not interrupted again. */
static void an_equal_that_has_gone(void)
{
	if (!begin(HIGH, 0))
		return;
	make_sleepers(1, HIGH);
	uint32_t before = entries();
	signal_and_send_away();
	EXPECT(entries() - before, 1);
	EXPECT(simple(0, SYS_SIGNAL, NOTES), 0);
	EXPECT(entries() - before, 1);
}

/* Equals that come within a time slice interrupt nobody, and have the next one. */
static void equals(void)
{
	enum { FEW = 5 };
	if (!begin(HIGH, 0))
		return;
	make_sleepers(FEW, HIGH);
	uint32_t before = entries();
	for (unsigned i = 0; i < FEW; i++) {
		EXPECT(simple(0, SYS_SIGNAL, NOTES + i), 0);
		EXPECT(entries() - before, 1);
	}
	for (unsigned i = 0; i < FEW; i++) {
		hosted_advance(machine, machine->kernel.slice);
		settle();
		EXPECT(running(CORE), (struct thread *)slot_of(SLEEPERS + 2 * i)->cap.object);
	}
}

/* However many are woken, a core places a bounded number of threads in an entry. */
static void many(void)
{
	if (!begin(HIGH - 1, 0))
		return;
	make_sleepers(MANY, 10);
	uint32_t before = entries();
	for (unsigned i = 0; i < MANY; i++) {
		EXPECT(entries() - before, i >= STACK_LONG);
		EXPECT(simple(0, SYS_SIGNAL, NOTES + i), 0);
	}
	EXPECT(entries() - before, 1);
}

TESTS(requeue_lists) = {
	{ "one below what runs", one_below_what_runs, CORES | TEST_ONCE },
	{ "one with a deadline", one_with_a_deadline, CORES | TEST_ONCE },
	{ "an equal that has gone", an_equal_that_has_gone, CORES | TEST_ONCE },
	{ "equals", equals, CORES | TEST_ONCE },
	{ "what runs waits", what_runs_waits, CORES },
	{ "what runs is lowered", what_runs_is_lowered, CORES },
	{ "it is raised", it_is_raised, CORES },
	{ "many", many, CORES | TEST_ONCE },
	{ 0 },
};
