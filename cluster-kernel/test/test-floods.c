/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Denial of service by interrupts: a program's threads on one core make system calls about threads of their own on
 * another core, without end. That core runs a thread of the highest priority, which computes. It is interrupted only
 * where what it does changes: never for threads of lower priority, and for those of equal priority once in a time
 * slice. (That each single interrupt changes something is checked in all hosted tests: arch-hosted/interrupts.c.)
 */
#include "fiber.h"
#include "harness.h"
#include LOCKING_HEADER

enum { VICTIM = 1000, OTHER = 1010, EQUAL = 1020, NOTE = 1050, CALLS = 200, CORES = 3 };

static struct thread *other;

static uint32_t entries(void) { return machine->core[1].entries; }

static void schedule_other(unsigned priority, unsigned core)
{
	EXPECT(call(OTHER, TCB_SCHEDULE, W(priority, core), W(ROOT_SLOT_TCB)), 0);
}

/*
 * Core 1 runs the victim. Another thread there is suspended, or waits for a notification that never comes until
 * `deadline`, at the lowest priority: it has begun to wait on core 2, so that the timer of core 1 is not set for that.
 */
static void begin(uint64_t deadline)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	other = make_thread(OTHER, deadline ? 0 : 255, deadline ? 2 : 1);
	if (deadline)
		syscall_on(2, SYS_WAIT, NOTE, 0, W(deadline), NONE, 0);
	struct thread *victim = make_thread(VICTIM, 255, 1);
	uint32_t before = entries();
	if (deadline) {
		schedule_other(0, 1);
		EXPECT(entries(), before);
	} else {
		EXPECT(call(OTHER, TCB_SUSPEND, NONE, NONE), 0);
	}
	EXPECT(running(1), victim);
	EXPECT(other->core, 1);
	check_every(CALLS);
}

/* One call of core 0, before any other core has a turn. */
static void quickly(uint64_t cptr, uint64_t label, const uint64_t *words, unsigned word_count, uint64_t cap)
{
	struct hosted_call order = { .number = SYS_CALL, .cptr = cptr,
	                             .info = message_info(label, cap != 0, word_count) };
	for (unsigned i = 0; i < word_count; i++)
		order.word[i] = words[i];
	thread_ipc_buffer(running(0))->caps[0] = cap;
	hosted_post_call(machine, 0, &order);
	while (!hosted_done(machine, 0) || machine->core[0].inside) {
		hosted_self = &machine->core[0];
		fiber_resume(&hosted_self->fiber);
		hosted_self = 0;
	}
	EXPECT(result(running(0)), 0);
}

static void expect_few(uint32_t before, uint32_t few)
{
	settle();
	EXPECT(entries() - before <= few, true);
	EXPECT(running(1), (struct thread *)slot_of(VICTIM)->cap.object);
	check_every(1);
}

static void a_sleeper_below_what_runs(void)
{
	begin(1ull << 60);
	uint32_t before = entries();
	for (unsigned i = 0; i < CALLS; i++)
		schedule_other(i % 2, 1);
	expect_few(before, 0);
}

static void a_sleeper_that_comes_and_goes(void)
{
	begin(1ull << 60);
	uint32_t before = entries();
	for (unsigned i = 0; i < CALLS; i++) {
		schedule_other(0, i % 2 + 1);
		EXPECT(other->core, i % 2 + 1);
	}
	expect_few(before, 0);
}

/* Its deadline is in the future, and once the core's timer is set for it, it stays so. */
static void a_sleeper_of_equal_priority(void)
{
	begin(1ull << 60);
	uint32_t before = entries();
	for (unsigned i = 0; i < CALLS; i++)
		schedule_other(i % 2 ? 0 : 255, 1);
	for (unsigned i = 0; i < CALLS; i++) {
		quickly(OTHER, TCB_SCHEDULE, W(255, 1), ROOT_SLOT_TCB);
		quickly(OTHER, TCB_SCHEDULE, W(0, 1), ROOT_SLOT_TCB);
		settle();
	}
	expect_few(before, 2);
}

/* The core is interrupted when the reason is gone already: it must remember that it was asked. */
static void a_sleeper_that_is_lowered_at_once(void)
{
	begin(1ull << 60);
	uint32_t before = entries();
	for (unsigned i = 0; i < CALLS; i++) {
		quickly(OTHER, TCB_SCHEDULE, W(255, 1), ROOT_SLOT_TCB);
		quickly(OTHER, TCB_SCHEDULE, W(0, 1), ROOT_SLOT_TCB);
		settle();
	}
	expect_few(before, 2);
}

/* Its deadline has passed while it was below what runs: it waits no longer. */
static void a_sleeper_that_is_overdue(void)
{
	begin(hosted_now(machine) + 1000000);
	hosted_advance(machine, 2000000);
	settle();
	EXPECT(other->state, THREAD_WAITING);
	uint32_t before = entries();
	schedule_other(1, 1);
	EXPECT(other->state, THREAD_READY);
	EXPECT(result(other), SKERRY_TIMED_OUT);
	for (unsigned i = 0; i < CALLS; i++)
		schedule_other(i % 2, 1 + i / 2 % 2);
	expect_few(before, 0);
}

static void an_equal_that_is_stopped_and_goes_on(void)
{
	begin(0);
	uint32_t before = entries();
	for (unsigned i = 0; i < CALLS; i++) {
		EXPECT(call(OTHER, TCB_RESUME, NONE, NONE), 0);
		EXPECT(call(OTHER, TCB_SUSPEND, NONE, NONE), 0);
	}
	expect_few(before, 1);
}

static void an_equal_that_is_stopped_at_once(void)
{
	begin(0);
	uint32_t before = entries();
	for (unsigned i = 0; i < CALLS; i++) {
		quickly(OTHER, TCB_RESUME, NONE, 0);
		quickly(OTHER, TCB_SUSPEND, NONE, 0);
		settle();
	}
	expect_few(before, 1);
}

/* The core begins to serve the first interrupt, and waits to enter its kernel: it is not sent another one meanwhile. */
static void an_equal_that_comes_while_its_core_waits(void)
{
	struct hosted_core *core = &machine->core[1];
	begin(0);
	uint32_t before = entries();
	for (unsigned i = 0; i < CALLS; i++) {
		quickly(OTHER, TCB_RESUME, NONE, 0);
		if (hosted_core_busy(core)) {
			hosted_self = core;
			fiber_resume(&core->fiber);
			hosted_self = 0;
			EXPECT(core->inside, true);
		}
		quickly(OTHER, TCB_SUSPEND, NONE, 0);
		quickly(OTHER, TCB_RESUME, NONE, 0);
		quickly(OTHER, TCB_SUSPEND, NONE, 0);
		settle();
	}
	expect_few(before, 1);
}

/* An honest equal still has its turn when the slice is over. */
static void an_equal_that_stays(void)
{
	begin(0);
	quickly(OTHER, TCB_RESUME, NONE, 0);
	quickly(OTHER, TCB_SUSPEND, NONE, 0);
	settle();
	EXPECT(call(OTHER, TCB_RESUME, NONE, NONE), 0);
	hosted_advance(machine, machine->kernel.slice);
	settle();
	EXPECT(running(1), other);
}

/* The same where the timer is set for nothing before: the slice that was begun in vain ends by itself. */
static void an_equal_after_one_that_went(void)
{
	begin(0);
	hosted_advance(machine, 2 * machine->kernel.slice);
	settle();
	quickly(OTHER, TCB_RESUME, NONE, 0);
	quickly(OTHER, TCB_SUSPEND, NONE, 0);
	settle();
	EXPECT(call(OTHER, TCB_RESUME, NONE, NONE), 0);
	hosted_advance(machine, machine->kernel.slice);
	settle();
	EXPECT(running(1), other);
}

/* A core that has begun the slice it was asked for begins no further one without an equal. */
static void a_slice_that_was_had(void)
{
	begin(1ull << 60);
	make_thread(EQUAL, 255, 1);
	EXPECT(call(EQUAL, TCB_SUSPEND, NONE, NONE), 0);
	hosted_advance(machine, 2 * machine->kernel.slice);
	settle();
	EXPECT(machine->kernel.cpu[1]->own.slice_end, 0);
	uint32_t before = entries();
	schedule_other(255, 1);
	EXPECT(entries() - before, 1);
	EXPECT(machine->kernel.cpu[1]->own.slice_end, 0);
}

static void one_that_stays_as_it_is(void)
{
	begin(0);
	uint32_t before = entries();
	for (unsigned i = 0; i < CALLS; i++)
		EXPECT(call(VICTIM, TCB_SCHEDULE, W(255, 1), W(ROOT_SLOT_TCB)), 0);
	expect_few(before, 0);
}

/* Where the priority of what runs falls, all that is above it now counts: a thread that is ready, and a deadline. */
static void one_that_falls(void)
{
	begin(0);
	EXPECT(call(OTHER, TCB_RESUME, NONE, NONE), 0);
	schedule_other(50, 1);
	EXPECT(call(VICTIM, TCB_SCHEDULE, W(40, 1), W(ROOT_SLOT_TCB)), 0);
	EXPECT(running(1), other);
}

static void one_that_falls_below_a_sleeper(void)
{
	begin(hosted_now(machine) + 1000000);
	schedule_other(50, 1);
	EXPECT(call(VICTIM, TCB_SCHEDULE, W(40, 1), W(ROOT_SLOT_TCB)), 0);
	hosted_advance(machine, 2000000);
	settle();
	EXPECT(running(1), other);
}

/* Lets one core run until it has nothing more to do, before any other core has a turn. */
static void run_alone(unsigned core)
{
	while (hosted_core_busy(&machine->core[core])) {
		hosted_self = &machine->core[core];
		fiber_resume(&hosted_self->fiber);
		hosted_self = 0;
	}
}

/*
 * Core 0 begins an epoch in an entry in which it stops a thread that is queued on core 1, and has interrupted that core
 * for a thread some time before: core 1 is interrupted all the same, and passes the epoch.
 */
static void a_change_of_the_locks(void)
{
	if (!cores_own_queues() || is_changing())
		return;
	other = make_thread(OTHER, 10, 1);
	make_thread(VICTIM, 255, 1);
	order_granularity(GRANULARITY_FINE);
	run_alone(1);
	run_alone(2);
	EXPECT(order_granularity(GRANULARITY_FINE), true);
	atomic_store(&machine->core[0].vectors[HOSTED_VECTOR_RESCHEDULE / 64], 0); /* is on its way */
	quickly(OTHER, TCB_SUSPEND, NONE, 0);
	hosted_interrupt(&machine->core[0], HOSTED_VECTOR_RESCHEDULE);
	settle();
	EXPECT(order_granularity(GRANULARITY_FINE), false);
}

TESTS(floods) = {
	{ "a sleeper below what runs", a_sleeper_below_what_runs, CORES | TEST_ONCE },
	{ "a sleeper that comes and goes", a_sleeper_that_comes_and_goes, CORES | TEST_ONCE },
	{ "a sleeper of equal priority", a_sleeper_of_equal_priority, CORES | TEST_ONCE },
	{ "a sleeper that is lowered at once", a_sleeper_that_is_lowered_at_once, CORES | TEST_ONCE },
	{ "a sleeper that is overdue", a_sleeper_that_is_overdue, CORES | TEST_ONCE },
	{ "an equal that is stopped and goes on", an_equal_that_is_stopped_and_goes_on, CORES | TEST_ONCE },
	{ "an equal that is stopped at once", an_equal_that_is_stopped_at_once, CORES | TEST_ONCE },
	{ "an equal that comes while its core waits", an_equal_that_comes_while_its_core_waits, CORES | TEST_ONCE },
	{ "an equal that stays", an_equal_that_stays, CORES },
	{ "an equal after one that went", an_equal_after_one_that_went, CORES },
	{ "a slice that was had", a_slice_that_was_had, CORES },
	{ "one that stays as it is", one_that_stays_as_it_is, CORES | TEST_ONCE },
	{ "one that falls", one_that_falls, CORES },
	{ "one that falls below a sleeper", one_that_falls_below_a_sleeper, CORES },
	{ "a change of the locks", a_change_of_the_locks, CORES | TEST_ONCE },
	{ 0 },
};
