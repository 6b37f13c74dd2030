/* SPDX-License-Identifier: BSD-2-Clause */
/* Many deadlines on one core. kernel_check() looks at the whole heap after each step. */
#include "check.h"
#include "harness.h"

enum { NOTE = 1000, WAITER = 2000, COUNT = 60 }; /* more than one budget wakes */
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

static uint64_t first_deadline(void) { return machine->kernel.cpu[0]->shared.timers.first[1]; }
static void go_to(uint64_t time) { hosted_advance(machine, time - machine->time); }

/* Half-way to the next moment: the waiters for earlier ones are awake, and no others. */
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
	EXPECT(first_deadline(), 0);
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

static void more_than_a_budget(void)
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
		if (machine->kernel.work_budget == 1)
			EXPECT(awake, before + 1);
	}
	EXPECT(entries > 1, true);
	EXPECT(entries < COUNT, machine->kernel.work_budget != 1);
	settle();
}

/* A wait until a moment that has passed ends at once: the core does not look for other ready threads. */
static void a_deadline_that_has_passed_is_not_waited_for(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	struct thread *equal = make_thread(WAITER, 50, 0);
	root_priority(50);
	while (running(0) != machine->root)
		simple(0, SYS_YIELD, 0);
	hosted_post_call(machine, 0, &(struct hosted_call){ .number = SYS_WAIT, .cptr = NOTE,
	                                                    .word = { machine->time } });
	enter_once();
	EXPECT(running(0), machine->root);
	EXPECT(result(machine->root), SKERRY_TIMED_OUT);
	EXPECT(equal->state, THREAD_READY);
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

/* However many deadlines have passed: the first entry wakes the highest thread, whose deadline came last, and it
 * runs. */
static void the_highest_priority_first(void)
{
	begin();
	struct thread *high = make_thread(WAITER + 2 * COUNT, 250, 0);
	EXPECT(running(0), high);
	syscall_on(0, SYS_WAIT, NOTE, 0, W(moment(MOMENTS)), NONE, 0);
	go_to(moment(MOMENTS + 1));
	enter_once();
	EXPECT(running(0), high);
	EXPECT(result(high), SKERRY_TIMED_OUT);
	settle(); /* the timer has nothing to do below it */
	EXPECT(running(0), high);
	syscall_on(0, SYS_WAIT, NOTE, 0, W(0), NONE, 0);
	settle();
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(result(waiter[i]), SKERRY_TIMED_OUT);
	EXPECT(first_deadline(), 0);
}

/* A thread of a higher priority is not interrupted for them; they are due when the core comes down to theirs. */
static void below_what_runs_they_wait(void)
{
	begin();
	root_priority(200);
	go_to(moment(MOMENTS + 1));
	settle();
	EXPECT(running(0), machine->root);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(waiter[i]->state, THREAD_WAITING);
	/* raised above what runs, one is due at once */
	EXPECT(call(WAITER, TCB_SCHEDULE, W(250, 0), W(ROOT_SLOT_TCB)), 0);
	settle();
	EXPECT(running(0), waiter[0]);
	EXPECT(result(waiter[0]), SKERRY_TIMED_OUT);
	EXPECT(simple(0, SYS_POLL, NOTE), 0);
	EXPECT(call(WAITER, TCB_SUSPEND, NONE, NONE), 0);
	/* lowered below them, what runs lets all of them go on */
	root_priority(50);
	settle();
	for (unsigned i = 1; i < COUNT; i++) {
		EXPECT(waiter[i]->state, THREAD_READY);
		EXPECT(result(waiter[i]), SKERRY_TIMED_OUT);
	}
}

/* One that is to leave for another core is not kept by what runs on this one. */
static void a_move_ends_the_wait(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	struct thread *low = make_thread(WAITER, 100, 1);
	syscall_on(1, SYS_WAIT, NOTE, 0, W(machine->time + APART), NONE, 0);
	struct thread *high = make_thread(WAITER + 2, 200, 1);
	hosted_advance(machine, 2 * APART);
	settle();
	EXPECT(running(1), high);
	EXPECT(low->state, THREAD_WAITING);
	EXPECT(call(WAITER, TCB_SCHEDULE, W(100, 0), W(ROOT_SLOT_TCB)), 0);
	settle();
	EXPECT(low->state, THREAD_READY);
	EXPECT(low->core, 0);
	EXPECT(result(low), SKERRY_TIMED_OUT);
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
	go_to(moment(MOMENTS));
	settle();
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(result(waiter[i]), 0);
}

/* A deadline that nobody waits for any more stays until it passes or an earlier one comes. It wakes nobody. */
static void kept_until_it_passes(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	start = machine->time + 1000000;
	struct thread *server = make_thread(WAITER, 100, 0);
	static const unsigned deadlines[] = { 4, 4, 6, 2, 4, 6 }, first[] = { 4, 4, 4, 2, 2, 2 };
	root_priority(10);
	for (unsigned i = 0; i < sizeof(deadlines) / sizeof(deadlines[0]); i++) {
		EXPECT(running(0), server);
		syscall_on(0, SYS_WAIT, NOTE, 0, W(moment(deadlines[i])), NONE, 0);
		EXPECT(running(0), machine->root);
		EXPECT(first_deadline(), moment(first[i]));
		EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
		EXPECT(first_deadline(), moment(first[i]));
	}
	syscall_on(0, SYS_WAIT, NOTE, 0, W(moment(6)), NONE, 0);
	go_to(moment(2) + APART / 2);
	settle();
	EXPECT(first_deadline(), moment(6));
	EXPECT(server->state, THREAD_WAITING);
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	simple(0, SYS_WAIT, NOTE);
	go_to(moment(6) + APART / 2);
	settle();
	EXPECT(first_deadline(), 0);
	EXPECT(server->state, THREAD_WAITING);
	EXPECT(hosted_timer_due(&machine->core[0]), false);
}

static void cancelled_all_at_once(void)
{
	begin();
	root_priority(200);
	delete(NOTE);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(result(waiter[i]), SKERRY_DELETED);
}

TESTS(timers) = {
	{ "deadlines: each at its time", each_at_its_time, 1 },
	{ "deadlines: in order", in_order, 1 },
	{ "deadlines: one that has passed is not waited for", a_deadline_that_has_passed_is_not_waited_for, 1 },
	{ "deadlines: more than a budget", more_than_a_budget, 1 },
	{ "deadlines: the highest priority first", the_highest_priority_first, 1 },
	{ "deadlines: below what runs they wait", below_what_runs_they_wait, 1 },
	{ "deadlines: a move ends the wait", a_move_ends_the_wait, 2 },
	{ "deadlines: cancelled by suspension", cancelled_by_suspension, 1 },
	{ "deadlines: cancelled by signals", cancelled_by_signals, 1 },
	{ "deadlines: kept until it passes", kept_until_it_passes, 1 },
	{ "deadlines: cancelled all at once", cancelled_all_at_once, 1 },
	{ 0 },
};
