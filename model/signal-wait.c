/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGNAL_WAIT by the fast path on core 1, in both directions between two threads, while root on core 0 takes away or
 * changes what they use. In each case root's call meets both at every place: before, between and after them, and
 * inside.
 */
#include "check.h"
#include "machine.h"
#include "message.h"
#include "notification.h"

enum { A = 1000, B = 1010, C = 1020, OURS = 1050, THEIRS };
/* The first thread's address space, from SECONDS on the second's, and from THIRDS on the third's. */
enum { SPACE_POOL = 1060, SPACE, FRAME = SPACE_POOL + MACHINE_SPACE_FRAME, SECONDS = 10, THIRDS = 20 };
#define AT 0x8000000000ull

static struct thread *root, *first, *second, *third;

static const struct hosted_call there = { .number = SYS_SIGNAL_WAIT, .cptr = OURS, .reply = THEIRS };
static const struct hosted_call back = { .number = SYS_SIGNAL_WAIT, .cptr = THEIRS, .reply = OURS };

static void give_space(uint64_t tcb, uint64_t slot)
{
	machine_give_space(tcb, slot, AT);
	EXPECT(hosted_touch(machine, 1, AT) != 0, true); /* the core's TLB has it */
}

/* The second thread waits; the first is about to run on core 1. */
static void begin(unsigned cores, bool spaces)
{
	const struct hosted_call wait = { .number = SYS_WAIT, .cptr = THEIRS };
	machine_make(cores);
	root = running(0);
	make(OBJECT_NOTIFICATION, 0, OURS, 2);
	second = make_thread(B, 100, 1);
	if (spaces)
		give_space(B, SPACE_POOL + SECONDS);
	hosted_post_call(machine, 1, &wait);
	settle();
	first = make_thread(A, 100, 1);
	if (spaces)
		give_space(A, SPACE_POOL);
	EXPECT(running(1) == first, true);
}

/* The first wakes the second and sleeps, and the second does the same. */
static void converse(unsigned cores, bool spaces)
{
	begin(cores, spaces);
	machine_program(first, there, 0);
	machine_program(second, back, 0);
}

static void stop(uint64_t tcb)
{
	converse(2, false);
	machine_invokes(root, tcb, TCB_SUSPEND, 0, 0, 0);
}

static void stop_first(void) { stop(A); }
static void stop_second(void) { stop(B); }

static void resume_first(void)
{
	stop(A);
	machine_invokes(root, A, TCB_RESUME, 0, 0, 0);
}

static void resume_second(void)
{
	stop(B);
	machine_invokes(root, B, TCB_RESUME, 0, 0, 0);
}

static void delete_slot(uint64_t slot)
{
	converse(2, false);
	machine_invokes(root, CNODE, CNODE_DELETE, slot, 0, 0);
}

static void destroy_first(void) { delete_slot(A); }
static void destroy_second(void) { delete_slot(B); }
static void delete_ours(void) { delete_slot(OURS); }
static void delete_theirs(void) { delete_slot(THEIRS); }

static void schedule(unsigned cores, uint64_t tcb, uint64_t priority, uint64_t core)
{
	converse(cores, false);
	machine_invokes(root, tcb, TCB_SCHEDULE, priority, core, ROOT_SLOT_TCB);
}

static void move_first(void) { schedule(3, A, 100, 2); }
static void move_second(void) { schedule(3, B, 100, 2); }
static void raise_first(void) { schedule(2, A, 150, 1); }
static void raise_second(void) { schedule(2, B, 150, 1); }

/* A third thread is ready on core 1, of a lower priority than the two, and never waits. */
static void begin_with_third(void)
{
	begin(2, false);
	third = make_thread(C, 50, 1);
	machine_program(first, there, 0);
	machine_program(second, back, 0);
}

/*
 * A third thread of the same priority, in an address space of its own, is ready on core 1 and never waits: the first
 * goes to it, and leaves the second, which it wakes, in its place of the run queue.
 */
static void pass_to_third(unsigned cores)
{
	begin(cores, false);
	third = make_thread(C, 150, 1);
	give_space(C, SPACE_POOL + THIRDS);
	EXPECT(call(A, TCB_SCHEDULE, W(200, 1), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(C, TCB_SCHEDULE, W(100, 1), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(A, TCB_SCHEDULE, W(100, 1), W(ROOT_SLOT_TCB)), 0);
	EXPECT(running(1) == first && third->queued, true);
	machine_program(first, there, 0);
	machine_program(second, back, 0);
}

static void stop_third(void)
{
	pass_to_third(2);
	machine_invokes(root, C, TCB_SUSPEND, 0, 0, 0);
}

static void destroy_third(void)
{
	pass_to_third(2);
	machine_invokes(root, CNODE, CNODE_DELETE, C, 0, 0);
}

static void move_third(void)
{
	pass_to_third(3);
	machine_invokes(root, C, TCB_SCHEDULE, 100, 2, ROOT_SLOT_TCB);
}

static void revoke_space_of_third(void)
{
	pass_to_third(2);
	machine_invokes(root, CNODE, CNODE_REVOKE, SPACE_POOL + THIRDS, 0, 0);
}

static void unmap_frame_of_third(void)
{
	pass_to_third(2);
	machine_invokes(root, FRAME + THIRDS, FRAME_UNMAP, 0, 0, 0);
}

static void lower_second(void)
{
	begin_with_third();
	machine_invokes(root, B, TCB_SCHEDULE, 20, 1, ROOT_SLOT_TCB);
}

static void raise_third(void)
{
	begin_with_third();
	machine_invokes(root, C, TCB_SCHEDULE, 150, 1, ROOT_SLOT_TCB);
}

static void signal_first(void)
{
	converse(2, false);
	machine_does(root, SYS_SIGNAL, OURS);
}

static void signal_second(void)
{
	converse(2, false);
	machine_does(root, SYS_SIGNAL, THEIRS);
}

/* The second belongs to another core. */
static void wake_elsewhere(void)
{
	begin(3, false);
	EXPECT(call(B, TCB_SCHEDULE, W(100, 2), W(ROOT_SLOT_TCB)), 0);
	machine_program(first, there, 0);
	machine_program(second, back, 0);
	machine_does(root, SYS_SIGNAL, THEIRS);
}

/* The second has begun to wait on core 0, which still saves its registers when it is moved to core 1, and woken
 * there. */
static void wake_what_is_saved(void)
{
	machine_make(2);
	root = running(0);
	make(OBJECT_NOTIFICATION, 0, OURS, 2);
	first = make_thread(A, 100, 1);
	second = make_thread(B, 100, 0);
	root_priority(50);
	EXPECT(running(0) == second && running(1) == first, true);
	machine_does(second, SYS_WAIT, THEIRS);
	machine_invokes(first, B, TCB_SCHEDULE, 100, 1, ROOT_SLOT_TCB);
	machine_program(first, there, 0);
}

/* Each of the two has an address space of its own. */
static void revoke_space(uint64_t offset)
{
	converse(2, true);
	machine_invokes(root, CNODE, CNODE_REVOKE, SPACE_POOL + offset, 0, 0);
}

static void revoke_space_of_first(void) { revoke_space(0); }
static void revoke_space_of_second(void) { revoke_space(SECONDS); }

static void unmap(uint64_t offset)
{
	converse(2, true);
	machine_invokes(root, FRAME + offset, FRAME_UNMAP, 0, 0, 0);
}

static void unmap_frame_of_first(void) { unmap(0); }
static void unmap_frame_of_second(void) { unmap(SECONDS); }

/* To which of the two a core has gone by the fast path, or to the third: each case says which of these there are. */
enum { NEITHER = 1 << 0, TO_FIRST = 1 << 1, TO_SECOND = 1 << 2, BOTH = 1 << 3, TO_THIRD = 1 << 4 };

static void whole(void)
{
	kernel_check(machine);
	explore_outcome(machine_went_fast(second) * 2 + machine_went_fast(first));
}

/* Once the third is out of the way, the second has its turn. */
static void third_went(void)
{
	kernel_check(machine);
	explore_outcome(machine_went_fast(third) ? 4 : machine_went_fast(second) * 2 + machine_went_fast(first));
	EXPLORE_CHECK(first->state == THREAD_READY && second->state == THREAD_WAITING,
	              "the second had no turn, or no signal arrived");
}

static void third_moved(void)
{
	third_went();
	EXPLORE_CHECK(running(2) == third, "the third thread is not where it was told to go");
}

/* The third runs on: its space is gone, or a frame less is in it. */
static void third_stays(void)
{
	kernel_check(machine);
	explore_outcome(machine_went_fast(third) ? 4 : machine_went_fast(second) * 2 + machine_went_fast(first));
	EXPLORE_CHECK(running(1) == third && first->state == THREAD_WAITING && second->queued,
	              "the third thread does not run in its turn");
}

/* A signal for each, and one more from root if it has signalled. */
static void nothing_is_lost(void)
{
	whole();
	EXPLORE_CHECK(first->state == THREAD_READY && machine_progress(first) == 1 && result(first) == SKERRY_OK,
	              "the first thread sleeps though it was signalled");
	EXPLORE_CHECK(machine_progress(second) == 1 || second->state == THREAD_READY,
	              "the second thread sleeps though it was signalled");
}

/* Root signals the second once more. */
static void second_goes_on(void)
{
	nothing_is_lost();
	EXPLORE_CHECK(second->state == THREAD_READY, "the second thread sleeps though it was signalled again");
}

static void signalled_once(void)
{
	nothing_is_lost();
	EXPLORE_CHECK(second->state == THREAD_WAITING, "the second thread is signalled twice");
}

static void first_moved(void)
{
	nothing_is_lost();
	EXPLORE_CHECK(running(2) == first && !running(1), "the first thread is not where it was told to go");
}

static void second_moved(void)
{
	nothing_is_lost();
	EXPLORE_CHECK(running(1) == first && second->next_core == 2,
	              "the first has left, or the second forgot where to go");
}

static void space_is_gone(void)
{
	whole();
	EXPLORE_CHECK(slot_empty(slot_of(SPACE)) || slot_empty(slot_of(SPACE + SECONDS)), "the space is still there");
}

static const struct explore_case cases[] = {
	MACHINE_CASE_OF("the first is suspended", 2, stop_first, whole, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("the second is suspended", 2, stop_second, whole, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("the first is resumed", 2, resume_first, signalled_once, TO_SECOND | BOTH),
	MACHINE_CASE_OF("the second is resumed", 2, resume_second, nothing_is_lost, TO_FIRST | BOTH),
	MACHINE_CASE_OF("the first is destroyed", 2, destroy_first, whole, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("the second is destroyed", 2, destroy_second, whole, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("our notification is deleted", 2, delete_ours, whole, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("their notification is deleted", 2, delete_theirs, whole, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("the first moves", 3, move_first, first_moved, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("the second moves", 3, move_second, second_moved, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("the second's priority is lowered", 2, lower_second, whole, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("the first's priority is raised", 2, raise_first, nothing_is_lost, BOTH),
	MACHINE_CASE_OF("the second's priority is raised", 2, raise_second, nothing_is_lost, BOTH),
	MACHINE_CASE_OF("the third is suspended", 2, stop_third, third_went, BOTH | TO_THIRD),
	MACHINE_CASE_OF("the third is destroyed", 2, destroy_third, third_went, BOTH | TO_THIRD),
	MACHINE_CASE_OF("the third moves", 3, move_third, third_moved, BOTH | TO_THIRD),
	MACHINE_CASE_OF("the third's address space is revoked", 2, revoke_space_of_third, third_stays,
	                NEITHER | TO_THIRD),
	MACHINE_CASE_OF("a frame of the third's is unmapped", 2, unmap_frame_of_third, third_stays, NEITHER | TO_THIRD),
	MACHINE_CASE_OF("a third thread's priority is raised", 2, raise_third, whole, NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("the first is signalled", 2, signal_first, nothing_is_lost, NEITHER | BOTH),
	MACHINE_CASE_OF("the second is signalled", 2, signal_second, second_goes_on, TO_SECOND | BOTH),
	MACHINE_CASE_OF("the second is elsewhere", 3, wake_elsewhere, nothing_is_lost, NEITHER),
	MACHINE_CASE_OF("the second was elsewhere", 2, wake_what_is_saved, whole, NEITHER | TO_SECOND),
	MACHINE_CASE_OF("the first's address space is revoked", 2, revoke_space_of_first, space_is_gone,
	                NEITHER | TO_SECOND | BOTH),
	MACHINE_CASE_OF("the second's address space is revoked", 2, revoke_space_of_second, space_is_gone,
	                TO_FIRST | TO_SECOND | BOTH),
	MACHINE_CASE_OF("a frame of the first's is unmapped", 2, unmap_frame_of_first, nothing_is_lost,
	                TO_SECOND | BOTH),
	MACHINE_CASE_OF("a frame of the second's is unmapped", 2, unmap_frame_of_second, nothing_is_lost,
	                TO_FIRST | BOTH),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
