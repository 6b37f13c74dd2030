/* SPDX-License-Identifier: BSD-2-Clause */
/* The hand-over of threads, wake-ups and address spaces between cores: the kernel as it ships, in small cases. */
#include "machine.h"
#include "message.h"
#include "notification.h"

enum { A = 1000, B = 1010, C = 1020, NOTE = 1050, ENDPOINT, REPLY };

static struct thread *root, *a, *b;

static void make_a_on(unsigned cores, unsigned core)
{
	machine_make(cores);
	root = running(0);
	a = make_thread(A, 100, core);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	explore_name(&a->loaded, 1, "A's loaded");
}

static void wait_on(unsigned core)
{
	const struct hosted_call call = { .number = SYS_WAIT, .cptr = NOTE };
	hosted_post_call(machine, core, &call);
	settle();
}

/* A asks for a signal while another core gives it. */
static void signal_and_wait(void)
{
	make_a_on(2, 1);
	machine_does(root, SYS_SIGNAL, NOTE);
	machine_does(a, SYS_WAIT, NOTE);
}

static void a_woke(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && badge(a) == 1, "the waiter sleeps though it was signalled");
}

/* Its core idles when the signal comes. */
static void signal_to_idle(void)
{
	make_a_on(2, 1);
	wait_on(1);
	machine_does(root, SYS_SIGNAL, NOTE);
}

/* It waits again, and there are two signals. */
static void signal_twice(void)
{
	make_a_on(2, 1);
	wait_on(1);
	machine_does(root, SYS_SIGNAL, NOTE);
	machine_does(root, SYS_SIGNAL, NOTE);
	machine_does(a, SYS_WAIT, NOTE);
}

static void signalled_by_two(void)
{
	make_a_on(3, 1);
	b = make_thread(B, 100, 2);
	machine_does(root, SYS_SIGNAL, NOTE);
	machine_does(b, SYS_SIGNAL, NOTE);
	machine_does(a, SYS_WAIT, NOTE);
}

/* A is told to move while it is about to enter, or has. */
static void move(void)
{
	make_a_on(2, 1);
	machine_invokes(root, A, TCB_SCHEDULE, 100, 0, ROOT_SLOT_TCB);
	machine_does(a, SYS_SIGNAL, NOTE);
}

static void a_moved(void)
{
	machine_check();
	EXPLORE_CHECK(a->core == 0 && a->queued && running(1) == 0, "the thread is not where it was told to go");
}

static void move_to_third(void)
{
	make_a_on(3, 1);
	machine_invokes(root, A, TCB_SCHEDULE, 100, 2, ROOT_SLOT_TCB);
	machine_does(a, SYS_SIGNAL, NOTE);
}

static void a_runs_on_third(void)
{
	machine_check();
	EXPLORE_CHECK(running(2) == a && running(1) == 0, "the thread is not where it was told to go");
	EXPLORE_CHECK(machine_progress(a) == 1, "its system call is lost");
}

/* There and back. */
static void move_twice(void)
{
	make_a_on(3, 1);
	machine_invokes(root, A, TCB_SCHEDULE, 100, 2, ROOT_SLOT_TCB);
	machine_invokes(root, A, TCB_SCHEDULE, 100, 1, ROOT_SLOT_TCB);
}

static void a_came_back(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && running(2) == 0, "the thread is not where it was told to go");
}

/* Suspended while it makes a system call: made once or not at all, and never half. */
static void suspend(void)
{
	make_a_on(2, 1);
	machine_invokes(root, A, TCB_SUSPEND, 0, 0, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
}

static uint64_t note_word(void) { return ((struct notification *)slot_of(NOTE)->cap.object)->word; }

static void a_is_stopped(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_INACTIVE && running(1) == 0, "the thread runs on");
	EXPLORE_CHECK(machine_progress(a) == (note_word() != 0), "its system call is half made");
}

static void suspend_and_resume(void)
{
	suspend();
	machine_invokes(root, A, TCB_RESUME, 0, 0, 0);
}

static void a_went_on(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && machine_progress(a) == 1 && note_word() == 1,
	              "its system call is lost, or made twice");
}

/* Suspended and resumed while it executes a breakpoint, whose RIP is behind the instruction: it is reported once. */
static void trap(void)
{
	make_a_on(2, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	a->fault_cptr = ENDPOINT;
	machine_traps(a);
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_invokes(root, A, TCB_SUSPEND, 0, 0, 0);
	machine_invokes(root, A, TCB_RESUME, 0, 0, 0);
}

static void a_is_reported(void)
{
	machine_check();
	EXPLORE_CHECK(machine_progress(a) == 1 && !note_word(), "a thread goes on behind a trap that was not reported");
	EXPLORE_CHECK(a->state == THREAD_SENDING && a->faulting && a->fault_words[0] == a->context.registers.rip,
	              "a trap is lost");
}

/* Destroyed by one core and woken by another. */
static void destroy(void)
{
	make_a_on(2, 1);
	machine_invokes(root, CNODE, CNODE_DELETE, A, 0, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
}

static void a_is_gone(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == 0, "a destroyed thread runs");
}

static void destroy_while_woken(void)
{
	make_a_on(3, 1);
	b = make_thread(B, 100, 2);
	wait_on(1);
	machine_invokes(root, CNODE, CNODE_DELETE, A, 0, 0);
	machine_does(b, SYS_SIGNAL, NOTE);
}

/* Two stop each other. */
static void suspend_each_other(void)
{
	make_a_on(3, 1);
	b = make_thread(B, 100, 2);
	machine_invokes(a, B, TCB_SUSPEND, 0, 0, 0);
	machine_invokes(b, A, TCB_SUSPEND, 0, 0, 0);
}

static void one_is_stopped(void)
{
	machine_check();
	EXPLORE_CHECK((a->state == THREAD_INACTIVE) != (b->state == THREAD_INACTIVE),
	              "of two that stop each other one runs on");
}

/* A slice ends while somebody of a higher priority is woken. */
static void preempt(void)
{
	make_a_on(2, 1);
	wait_on(1);
	b = make_thread(B, 100, 1);
	make_thread(C, 100, 1);
	hosted_advance(machine, machine->kernel.slice + 100);
	machine_does(root, SYS_SIGNAL, NOTE);
}

/* A call from one core to another, and its reply. */
static void call_across(void)
{
	make_a_on(2, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	machine_does(a, SYS_CALL, ENDPOINT);
	machine_program(root, (struct hosted_call){ .number = SYS_RECV, .cptr = ENDPOINT, .reply = REPLY }, 0);
	machine_program(root, (struct hosted_call){ .number = SYS_REPLY, .reply = REPLY }, 0);
}

static void a_was_answered(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && running(0) == root && machine_progress(root) == 2, "a call was not answered");
}

/* The caller is destroyed meanwhile. */
static void call_of_the_dead(void)
{
	machine_make(3);
	root = running(0);
	a = make_thread(A, 100, 1);
	b = make_thread(B, 100, 2);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	machine_does(a, SYS_CALL, ENDPOINT);
	machine_program(b, (struct hosted_call){ .number = SYS_RECV, .cptr = ENDPOINT, .reply = REPLY }, 0);
	machine_invokes(root, CNODE, CNODE_DELETE, A, 0, 0);
}

/* A deadline passes while the signal comes: one of the two ends the wait, and the signal is not lost. */
static void deadline(void)
{
	make_a_on(2, 1);
	const struct hosted_call call = { .number = SYS_WAIT, .cptr = NOTE, .word = { machine->time + 1000 } };
	hosted_post_call(machine, 1, &call);
	settle();
	EXPLORE_CHECK(running(1) == 0, "the wait is over too soon");
	hosted_advance(machine, 5000);
	machine_does(root, SYS_SIGNAL, NOTE);
}

static void once(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a &&
	              (result(a) == SKERRY_TIMED_OUT ? note_word() == 1 : badge(a) == 1 && !note_word()),
	              "a signal is lost in a deadline");
}

enum { OTHER = NOTE + 9 };

/* Root signals the threads of two cores in one call; one of them idles, the other is about to wait. */
static void signal_set(void)
{
	make_a_on(3, 1);
	wait_on(1);
	b = make_thread(B, 100, 2);
	make(OBJECT_NOTIFICATION, 0, OTHER, 1);
	machine_program(root, (struct hosted_call){ .number = SYS_SIGNAL_SET, .cptr = NOTE,
	                                            .word = { 1 | 1 << (OTHER - NOTE) } }, 0);
	machine_does(b, SYS_WAIT, OTHER);
}

static void both_woke(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && badge(a) == 1, "the first of a set sleeps");
	EXPLORE_CHECK(running(2) == b && badge(b) == 1, "the second of a set sleeps");
}

/* The call leaves the kernel between the two, and A takes the first word then. */
static void signal_set_in_parts(void)
{
	make_a_on(2, 1);
	make(OBJECT_NOTIFICATION, 0, OTHER, 1);
	machine->kernel.work_budget = 1;
	machine_program(root, (struct hosted_call){ .number = SYS_SIGNAL_SET, .cptr = NOTE,
	                                            .word = { 1 | 1 << (OTHER - NOTE) } }, 0);
	machine_does(a, SYS_WAIT, NOTE);
}

static void each_signalled_once(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && machine_progress(a) == 1, "the first of a set sleeps");
	EXPLORE_CHECK(!note_word() && ((struct notification *)slot_of(OTHER)->cap.object)->word == 1,
	              "a member of a set was signalled twice, or not at all");
}

static const struct explore_case cases[] = {
	MACHINE_CASE("a set on two cores", 3, signal_set, both_woke),
	MACHINE_CASE("a set in parts", 2, signal_set_in_parts, each_signalled_once),
	MACHINE_CASE("a wait meets a signal", 2, signal_and_wait, a_woke),
	MACHINE_CASE("a signal to an idle core", 2, signal_to_idle, a_woke),
	MACHINE_CASE("two signals, two waits", 2, signal_twice, machine_check),
	MACHINE_CASE("a wait and signals from two cores", 3, signalled_by_two, a_woke),
	MACHINE_CASE("a running thread moves", 2, move, a_moved),
	MACHINE_CASE("a running thread moves to a third core", 3, move_to_third, a_runs_on_third),
	MACHINE_CASE("a running thread moves there and back", 3, move_twice, a_came_back),
	MACHINE_CASE("a running thread is suspended", 2, suspend, a_is_stopped),
	MACHINE_CASE("suspended and resumed", 2, suspend_and_resume, a_went_on),
	MACHINE_CASE("stopped in a breakpoint", 2, trap, a_is_reported),
	MACHINE_CASE("a running thread is destroyed", 2, destroy, a_is_gone),
	MACHINE_CASE("a waiting thread is destroyed and woken", 3, destroy_while_woken, a_is_gone),
	MACHINE_CASE("two suspend each other", 3, suspend_each_other, one_is_stopped),
	MACHINE_CASE("a call across cores", 2, call_across, a_was_answered),
	MACHINE_CASE("a caller is destroyed", 3, call_of_the_dead, a_is_gone),
	MACHINE_CASE("a deadline meets a signal", 2, deadline, once),
	MACHINE_CASE("a slice ends and a thread is woken", 2, preempt, machine_check),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
