/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that the fast path of SIGNAL_WAIT wakes stay in the heap of deadlines (timer.h). kernel_check() looks at it
 * after each step. */
#include "harness.h"

enum { NOTE = 1000, PING = 1010, PONG = 1012, APART = 10000 };
static struct thread *ping, *pong;
static uint64_t start;

static uint64_t moment(unsigned i) { return start + (uint64_t)i * APART; }
static uint64_t first_deadline(void) { return machine->kernel.cpu[0]->shared.timers.first[1]; }
static void go_to(uint64_t time) { hosted_advance(machine, time - machine->time); }

/* The current thread signals the other one and waits. */
static void pass(uint64_t deadline)
{
	const bool first = running(0) == ping;
	syscall_on(0, SYS_SIGNAL_WAIT, first ? NOTE : NOTE + 1, 0, W(deadline), NONE, first ? NOTE + 1 : NOTE);
}

static void expect_kept(const struct thread *thread, bool kept)
{
	EXPECT(thread->timer.kept, kept);
	EXPECT(thread->in_timers, thread->state == THREAD_WAITING && !kept);
}

/* `ping` runs and is kept for its deadline, moment 6; `pong` waits until moment 8. False: the regime has no such
 * path. */
static bool begin_kept(void)
{
	if (kernel_has_readers() && !objects_have_homes())
		return false;
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	start = machine->time + 1000000;
	ping = make_thread(PING, 100, 0);
	pong = make_thread(PONG, 100, 0);
	root_priority(10);
	EXPECT(running(0), ping);
	syscall_on(0, SYS_WAIT, NOTE, 0, W(moment(6)), NONE, 0);
	EXPECT(running(0), pong);
	pass(moment(8));
	EXPECT(running(0), ping);
	expect_kept(ping, true);
	expect_kept(pong, false);
	EXPECT(first_deadline(), moment(6));
	return true;
}

static void for_the_same_deadline(void)
{
	if (!begin_kept())
		return;
	for (unsigned i = 0; i < 4; i++) {
		pass(moment(6));
		EXPECT(running(0), pong);
		expect_kept(ping, false);
		expect_kept(pong, true);
		pass(moment(8));
		EXPECT(running(0), ping);
		expect_kept(ping, true);
		expect_kept(pong, false);
	}
	pass(moment(6));
	syscall_on(0, SYS_WAIT, NOTE + 1, 0, W(0), NONE, 0);
	expect_kept(pong, true);
	go_to(moment(7));
	settle();
	EXPECT(ping->state, THREAD_READY);
	EXPECT(result(ping), SKERRY_TIMED_OUT);
	EXPECT(pong->state, THREAD_WAITING);
	EXPECT(first_deadline(), moment(8));
}

/* Earlier or later, by the fast path or by the slow one, and none at all. */
static void for_another_deadline(void)
{
	static const unsigned deadlines[] = { 4, 7, 3, 5 };
	if (!begin_kept())
		return;
	for (unsigned i = 0; i < sizeof(deadlines) / sizeof(deadlines[0]); i++) {
		pass(moment(deadlines[i]));
		expect_kept(ping, false);
		EXPECT(ping->deadline, moment(deadlines[i]));
		pass(moment(8));
		expect_kept(ping, true);
	}
	syscall_on(0, SYS_WAIT, NOTE, 0, W(moment(2)), NONE, 0);
	expect_kept(ping, false);
	EXPECT(first_deadline(), moment(2));
	go_to(moment(2) + APART / 2);
	settle();
	EXPECT(result(ping), SKERRY_TIMED_OUT);
	EXPECT(first_deadline(), moment(8));
	EXPECT(pong->state, THREAD_WAITING);
}

/* It wakes nobody, and the next one is on time. */
static void passes_while_the_thread_runs(void)
{
	if (!begin_kept())
		return;
	go_to(moment(6) + APART / 2);
	settle();
	EXPECT(running(0), ping);
	expect_kept(ping, false);
	EXPECT(first_deadline(), moment(8));
	pass(moment(9)); /* `pong` is kept */
	go_to(moment(9) + APART / 2);
	settle();
	expect_kept(pong, false);
	EXPECT(result(ping), SKERRY_TIMED_OUT);
	EXPECT(first_deadline(), 0);
	EXPECT(hosted_timer_due(&machine->core[0]), false);
}

/* One that faults without a handler stays in the heap. */
static void of_a_thread_that_faults(void)
{
	if (!begin_kept())
		return;
	hosted_post_fault(machine, 0, FAULT_EXCEPTION, 1, (const uint64_t[]){ 6 });
	settle();
	EXPECT(ping->state, THREAD_INACTIVE);
	expect_kept(ping, true);
	go_to(moment(7));
	settle();
	expect_kept(ping, false);
	EXPECT(ping->state, THREAD_INACTIVE);
	EXPECT(first_deadline(), moment(8));
}

/* Both are kept: to take one out of the heap costs as much as to wake it. */
static void costs_as_much_as_a_wake_up(void)
{
	if (!begin_kept())
		return;
	root_priority(200);
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	root_priority(10);
	pass(0); /* pending: it goes on, and `pong` is kept */
	expect_kept(ping, true);
	expect_kept(pong, true);
	machine->kernel.work_budget = 250;
	go_to(moment(9));
	enter_once();
	EXPECT(ping->timer.kept, false);
	EXPECT(pong->timer.kept, true);
	settle();
	EXPECT(pong->timer.kept, false);
}

/* The highest may change what is kept of the others. */
static void until_the_thread_changes(void)
{
	if (!begin_kept())
		return;
	root_priority(200);
	EXPECT(call(PING, TCB_SCHEDULE, W(101, 0), W(ROOT_SLOT_TCB)), 0);
	expect_kept(ping, false);
	root_priority(10);
	EXPECT(running(0), ping);
	pass(moment(6));
	pass(moment(8));
	expect_kept(ping, true);
	root_priority(200);
	EXPECT(call(PING, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(ping->timer.kept, false);
	EXPECT(call(PING, TCB_RESUME, NONE, NONE), 0);
	root_priority(10);
	pass(moment(6));
	pass(moment(8));
	expect_kept(ping, true);
	root_priority(200);
	delete(PING);
	EXPECT(machine->kernel.cpu[0]->shared.timers.heap[101], 0);
	root_priority(10);
	go_to(moment(10));
	settle();
	EXPECT(result(pong), SKERRY_TIMED_OUT);
}

static void until_the_thread_moves(void)
{
	if (!begin_kept())
		return;
	root_priority(200);
	EXPECT(call(PING, TCB_SCHEDULE, W(100, 1), W(ROOT_SLOT_TCB)), 0);
	settle();
	EXPECT(ping->core, 1);
	EXPECT(running(1), ping);
	expect_kept(ping, false);
	syscall_on(1, SYS_WAIT, NOTE, 0, W(moment(7)), NONE, 0);
	go_to(moment(7) + APART / 2);
	settle();
	EXPECT(result(ping), SKERRY_TIMED_OUT);
	EXPECT(pong->state, THREAD_WAITING);
}

TESTS(kept_deadlines) = {
	{ "a kept deadline: the same again", for_the_same_deadline, 1 },
	{ "a kept deadline: another one", for_another_deadline, 1 },
	{ "a kept deadline: it passes", passes_while_the_thread_runs, 1 },
	{ "a kept deadline: the thread faults", of_a_thread_that_faults, 1 },
	{ "a kept deadline: what it costs", costs_as_much_as_a_wake_up, 1 },
	{ "a kept deadline: the thread changes", until_the_thread_changes, 1 },
	{ "a kept deadline: the thread moves", until_the_thread_moves, 2 },
	{ 0 },
};
