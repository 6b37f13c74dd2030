/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that one core wakes while another suspends, moves or destroys it. */
#include "check.h"
#include "machine.h"
#include "message.h"
#include "notification.h"
#include "schedule.h"

enum { A = 1000, B = 1010, C = 1020, D = 1030, NOTE = 1050, OTHER };

static struct thread *root, *a, *b, *c;

static uint64_t note_word(void) { return ((struct notification *)slot_of(NOTE)->cap.object)->word; }

static void wait_on_core_1(uint64_t cptr)
{
	/* the deadline is far away */
	const struct hosted_call call = { .number = SYS_WAIT, .cptr = cptr, .word = { machine->time + 1000000 } };
	hosted_post_call(machine, 1, &call);
	settle();
	EXPECT(running(1), 0);
}

/* A waits on core 1; B, on core 2, signals. */
static void make_waiter(void)
{
	machine_make(3);
	root = running(0);
	a = make_thread(A, 100, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	wait_on_core_1(NOTE);
	b = make_thread(B, 100, 2);
	machine_does(b, SYS_SIGNAL, NOTE);
	explore_name(a, sizeof(*a), "A");
}

/* Its wait was ended by the signal, or is made again when it is resumed: the signal waits for it then. */
static bool signalled_once(void) { return note_word() ? result(a) != SKERRY_OK : badge(a) == 1; }

static void woken_and_suspended(void)
{
	make_waiter();
	machine_invokes(root, A, TCB_SUSPEND, 0, 0, 0);
}

static void a_is_stopped(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(a->state == THREAD_INACTIVE && !running(1), "a suspended thread runs");
	EXPLORE_CHECK(!a->in_timers && !a->queued, "a suspended thread has a place");
}

static void woken_and_resumed(void)
{
	woken_and_suspended();
	machine_invokes(root, A, TCB_RESUME, 0, 0, 0);
}

/* Resumed, it makes the wait again where that had not ended. */
static void a_runs_or_waits(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(running(1) == a || a->context.again, "a signal is lost");
}

static void woken_and_moved(void)
{
	make_waiter();
	machine_invokes(root, A, TCB_SCHEDULE, 100, 0, ROOT_SLOT_TCB);
}

static void woken_and_moved_to_its_waker(void)
{
	make_waiter();
	machine_invokes(root, A, TCB_SCHEDULE, 101, 2, ROOT_SLOT_TCB);
}

static void a_moved(void)
{
	machine_check();
	EXPLORE_CHECK(a->core == a->next_core && a->state == THREAD_READY && !running(1),
	              "a woken thread is not where it was told to go");
	EXPLORE_CHECK(!a->in_timers && signalled_once() && !note_word(), "a signal is lost");
}

/* It may begin to wait on core 1 before that core is interrupted: then it is to leave when it is woken. */
static void moved_and_woken(void)
{
	machine_make(3);
	root = running(0);
	a = make_thread(A, 100, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	b = make_thread(B, 100, 2);
	machine_does(a, SYS_WAIT, NOTE);
	machine_does(b, SYS_SIGNAL, NOTE);
	machine_invokes(root, A, TCB_SCHEDULE, 100, 0, ROOT_SLOT_TCB);
	explore_name(a, sizeof(*a), "A");
}

static void a_moved_and_waited(void)
{
	machine_check();
	EXPLORE_CHECK(a->core == 0 && a->next_core == 0 && a->state == THREAD_READY && !running(1),
	              "a woken thread is not where it was told to go");
	EXPLORE_CHECK(note_word() + badge(a) == 1, "a signal is lost");
}

static void woken_and_destroyed(void)
{
	make_waiter();
	machine_invokes(root, CNODE, CNODE_DELETE, A, 0, 0);
}

static void a_is_gone(void)
{
	machine_check();
	EXPLORE_CHECK(!running(1), "a destroyed thread runs");
}

/* It comes back to its wait while it is woken: two signals, the second of another core. */
static void woken_by_two(void)
{
	make_waiter();
	machine_does(root, SYS_SIGNAL, NOTE);
	machine_does(a, SYS_WAIT, NOTE);
}

static void a_was_woken(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a || a->state == THREAD_WAITING, "a woken thread is nowhere");
	EXPLORE_CHECK(running(1) != a || !a->in_timers, "a thread runs and has a deadline");
}

/* Two of a core are woken, and the first of them is suspended. */
static void two_woken_and_one_suspended(void)
{
	make_waiter();
	c = make_thread(C, 100, 1);
	wait_on_core_1(OTHER);
	machine_does(b, SYS_SIGNAL, OTHER);
	machine_invokes(root, A, TCB_SUSPEND, 0, 0, 0);
}

static void the_other_runs(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(a->state == THREAD_INACTIVE && running(1) == c, "the other one sleeps though it was signalled");
}

/* It does not interrupt what runs on its core, for that is of a higher priority, and has been interrupted once. */
static void woken_below_what_runs(void)
{
	make_waiter();
	make_thread(D, 10, 1);
	wait_on_core_1(OTHER);
	c = make_thread(C, 200, 1);
	EXPECT(simple(0, SYS_SIGNAL, OTHER), 0);
	EXPECT(machine->kernel.cpu[1]->own.requeue_level, schedule_level(200));
	machine_does(b, SYS_SIGNAL, NOTE);
}

static void woken_while_what_runs_waits(void)
{
	woken_below_what_runs();
	machine_does(c, SYS_WAIT, OTHER);
}

static void woken_while_what_runs_is_lowered(void)
{
	woken_below_what_runs();
	machine_invokes(root, C, TCB_SCHEDULE, 50, 1, ROOT_SLOT_TCB);
}

static void a_runs(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && badge(a) == 1, "a woken thread is forgotten");
}

static const struct explore_case cases[] = {
	MACHINE_CASE("woken and suspended", 3, woken_and_suspended, a_is_stopped),
	MACHINE_CASE("woken, suspended and resumed", 3, woken_and_resumed, a_runs_or_waits),
	MACHINE_CASE("woken and told to move", 3, woken_and_moved, a_moved),
	MACHINE_CASE("woken and told to move to its waker", 3, woken_and_moved_to_its_waker, a_moved),
	MACHINE_CASE("told to move, then woken", 3, moved_and_woken, a_moved_and_waited),
	MACHINE_CASE("woken and destroyed", 3, woken_and_destroyed, a_is_gone),
	MACHINE_CASE("woken by two", 3, woken_by_two, a_was_woken),
	MACHINE_CASE("two are woken and one is suspended", 3, two_woken_and_one_suspended, the_other_runs),
	MACHINE_CASE("woken while what runs waits", 3, woken_while_what_runs_waits, a_runs),
	MACHINE_CASE("woken while what runs is lowered", 3, woken_while_what_runs_is_lowered, a_runs),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
