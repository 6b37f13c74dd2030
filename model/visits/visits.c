/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that another core makes, for the object's locality leaves out the thread's core (core/visit.h). */
#include <skerry/cluster_mask.h>
#include "check.h"
#include "locality.h"
#include "machine.h"
#include "message.h"
#include "notification.h"

enum { A = 1000, B = 1010, C = 1020, NOTE = 1050, OTHER, ENDPOINT, REPLY };

static struct thread *root, *a, *b;

static uint64_t word_of(uint64_t slot) { return ((struct notification *)slot_of(slot)->cap.object)->word; }

static void on(unsigned core, uint64_t number, uint64_t cptr, uint64_t reply)
{
	const struct hosted_call call = { .number = number, .cptr = cptr, .reply = reply };
	hosted_post_call(machine, core, &call);
	settle();
}

static void go_home(uint64_t slot, unsigned core)
{
	locality_set(&machine->kernel, &slot_of(slot)->cap, mask_of(core));
}

/* All objects are at home on one core. Where the kernel has one lock nothing is away. */
static void make_at(unsigned cores, unsigned home)
{
	machine_make(cores);
	root = running(0);
	a = make_thread(A, 100, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	for (uint64_t slot = NOTE; slot <= REPLY; slot++)
		go_home(slot, home);
	explore_name(a, sizeof(*a), "A");
}

static void signal_travels(void)
{
	make_at(2, 1);
	machine_does(a, SYS_WAIT, NOTE);
	machine_does(root, SYS_SIGNAL, NOTE);
}

static void a_has_the_signal(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && badge(a) == 1 && !word_of(NOTE), "a signal that travels is lost");
	EXPLORE_CHECK(running(0) == root && machine_progress(root) == 1, "a thread has not come back");
}

/* The wait travels, the signal does not. */
static void wait_travels(void)
{
	make_at(2, 0);
	machine_does(a, SYS_WAIT, NOTE);
	machine_does(root, SYS_SIGNAL, NOTE);
}

/* What comes back makes its next call. */
static void polls_and_signals(void)
{
	make_at(2, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_does(a, SYS_POLL, NOTE);
}

static void a_took_its_own(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && machine_progress(a) == 2 && badge(a) == 1, "a thread has not come back twice");
}

static void both_directions(void)
{
	make_at(2, 1);
	go_home(OTHER, 0);
	machine_does(a, SYS_SIGNAL, OTHER);
	machine_does(root, SYS_SIGNAL, NOTE);
}

static void both_signalled(void)
{
	machine_check();
	EXPLORE_CHECK(word_of(NOTE) == 1 && word_of(OTHER) == 1, "a signal that travels is lost");
	EXPLORE_CHECK(running(0) == root && running(1) == a, "a thread has not come back");
}

/* Of one thread the home makes the call in one entry, of the other in the next. */
static void two_visitors(void)
{
	make_at(3, 0);
	b = make_thread(B, 100, 2);
	machine->kernel.work_budget = 1;
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_does(b, SYS_SIGNAL, OTHER);
}

static void both_visited(void)
{
	machine_check();
	EXPLORE_CHECK(word_of(NOTE) == 1 && word_of(OTHER) == 1 && running(1) == a && running(2) == b,
	              "a visitor is forgotten");
}

/* Of three threads of one core: the third may come while the second has been left, and its interrupt be that for the
 * second. */
static void three_visitors(void)
{
	make_at(2, 0);
	b = make_thread(B, 99, 1);
	struct thread *const c = make_thread(C, 98, 1);
	machine->kernel.work_budget = 1;
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_does(b, SYS_SIGNAL, OTHER);
	machine_does(c, SYS_SIGNAL, OTHER);
}

/* When A is back before the others have made their calls, it runs on, and they do not. */
static void all_visited(void)
{
	machine_check();
	EXPLORE_CHECK(word_of(NOTE) == 1 && running(1) == a && word_of(OTHER) >= machine_progress(b),
	              "a visitor is forgotten");
}

static void receives(struct thread *thread)
{
	machine_program(thread, (struct hosted_call){ .number = SYS_RECV, .cptr = ENDPOINT, .reply = REPLY }, 0);
}

static void call_travels(void)
{
	make_at(2, 1);
	receives(a);
	machine_does(root, SYS_CALL, ENDPOINT);
}

static void a_has_the_call(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && root->state == THREAD_REPLY, "a call that travels is lost");
}

/* The receive travels. */
static void receive_travels(void)
{
	make_at(2, 0);
	receives(a);
	machine_does(root, SYS_CALL, ENDPOINT);
}

/* Endpoint and reply object have different homes: whichever thread comes second has the kernel for itself. */
static void two_homes(void)
{
	make_at(2, 1);
	go_home(REPLY, 0);
	receives(a);
	machine_does(root, SYS_CALL, ENDPOINT);
}

/* A signal that is to end a receive, with its notification at home there and the endpoint here. */
static void bound_elsewhere(void)
{
	make_at(2, 1);
	go_home(ENDPOINT, 0);
	go_home(REPLY, 0);
	EXPECT(call(A, TCB_BIND, NONE, W(NOTE)), 0);
	receives(a);
	machine_does(root, SYS_SIGNAL, NOTE);
}

static void a_has_its_signal(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && badge(a) == 1 && !word_of(NOTE), "a bound signal is lost");
	EXPLORE_CHECK(running(0) == root && machine_progress(root) == 1, "a thread has not come back");
}

/* The same, while the endpoint's own core sends to it. */
static void bound_and_sent_to(void)
{
	make_at(2, 1);
	go_home(ENDPOINT, 0);
	go_home(REPLY, 0);
	EXPECT(call(A, TCB_BIND, NONE, W(NOTE)), 0);
	on(1, SYS_RECV, ENDPOINT, REPLY);
	machine_does(a, SYS_POLL, NOTE);
	b = make_thread(B, 120, 1);
	machine_does(b, SYS_SIGNAL, NOTE);
	machine_does(root, SYS_NB_SEND, ENDPOINT);
}

static void signalled_once(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_READY && b->state == THREAD_READY && machine_progress(b) == 1,
	              "a thread has not come back");
	EXPLORE_CHECK(badge(a) + word_of(NOTE) <= 1, "a signal is made twice");
}

/* A call that is received with a reply object whose own core replies with it. */
static void reply_object_elsewhere(void)
{
	make_at(2, 1);
	go_home(REPLY, 0);
	on(1, SYS_RECV, ENDPOINT, REPLY);
	b = make_thread(B, 100, 0);
	machine_does(root, SYS_CALL, ENDPOINT);
	machine_program(b, (struct hosted_call){ .number = SYS_REPLY, .reply = REPLY }, 0);
}

static void replied_or_not(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(running(1) == a && root->state == (result(b) ? THREAD_REPLY : THREAD_READY),
	              "a reply and its result disagree");
}

static void reply_travels(void)
{
	make_at(2, 0);
	on(1, SYS_RECV, ENDPOINT, REPLY);
	on(0, SYS_CALL, ENDPOINT, 0);
	machine_program(a, (struct hosted_call){ .number = SYS_REPLY_RECV, .cptr = ENDPOINT, .reply = REPLY }, 0);
}

static void root_has_the_reply(void)
{
	machine_check();
	EXPLORE_CHECK(running(0) == root && result(root) == 0 && a->state == THREAD_RECEIVING,
	              "a reply that travels is lost");
}

/* The wait is on its way, made, or over when its thread is suspended. */
static void suspended(void)
{
	make_at(2, 0);
	machine_does(a, SYS_WAIT, NOTE);
	machine_invokes(root, A, TCB_SUSPEND, 0, 0, 0);
}

static void a_is_stopped(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_INACTIVE && !running(1) && !machine_progress(a),
	              "a suspended thread has gone on");
}

static void signals_and_is_suspended(void)
{
	make_at(2, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_invokes(root, A, TCB_SUSPEND, 0, 0, 0);
}

static void signalled_or_not(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_INACTIVE && word_of(NOTE) == machine_progress(a), "a call is half made");
}

static void suspended_and_resumed(void)
{
	signals_and_is_suspended();
	machine_invokes(root, A, TCB_RESUME, 0, 0, 0);
}

static void a_signalled(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && machine_progress(a) == 1 && word_of(NOTE) == 1, "a call is not made again");
}

static void destroyed(void)
{
	make_at(2, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_invokes(root, CNODE, CNODE_DELETE, A, 0, 0);
}

static void a_is_gone(void)
{
	machine_check();
	EXPLORE_CHECK(!running(1), "a destroyed thread runs");
}

/* What it goes to is deleted. */
static void object_deleted(void)
{
	make_at(2, 0);
	machine_does(a, SYS_WAIT, NOTE);
	machine_invokes(root, CNODE, CNODE_DELETE, NOTE, 0, 0);
}

static void a_was_told(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(running(1) == a && (result(a) == SKERRY_DELETED || result(a) == SKERRY_BAD_CAP),
	              "a wait ends without an error");
}

static void moved(void)
{
	make_at(2, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_invokes(root, A, TCB_SCHEDULE, 101, 0, ROOT_SLOT_TCB);
}

static void a_moved(void)
{
	machine_check();
	EXPLORE_CHECK(a->core == 0 && a->next_core == 0 && a->state == THREAD_READY && !running(1),
	              "a thread is not where it was told to go");
	EXPLORE_CHECK(word_of(NOTE) == machine_progress(a), "a call is half made");
}

/* While it is on its way, its own core or a third becomes the object's home; there, another uses the object. */
static void locality_moves(unsigned cores, unsigned home)
{
	make_at(cores, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_invokes(root, CNODE, CNODE_LOCALITY, NOTE, mask_of(home), 0);
	if (home == 1)
		machine_does(root, SYS_SIGNAL, NOTE);
}

static void comes_to_its_core(void) { locality_moves(2, 1); }
static void goes_to_a_third(void) { locality_moves(3, 2); }

static void all_signalled(void)
{
	machine_check();
	EXPLORE_CHECK(word_of(NOTE) == 1 && running(0) == root && running(1) == a,
	              "a signal is lost where a locality changes");
}

/* The home and another core use what has no lock. */
static void home_and_away(void)
{
	make_at(2, 1);
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_does(root, SYS_SIGNAL, NOTE);
}

static void polls_beside(void)
{
	make_at(2, 1);
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_does(root, SYS_POLL, NOTE);
}

/* From no locality to one: readers with the lock are over before the home takes none. */
static void becomes_local(void)
{
	make_at(2, 1);
	locality_set(&machine->kernel, &slot_of(NOTE)->cap, MASK_ALL);
	machine_does(a, SYS_SIGNAL, NOTE);
	machine_invokes(root, CNODE, CNODE_LOCALITY, NOTE, mask_of(0), 0);
	machine_does(root, SYS_POLL, NOTE);
}

static void nothing_is_lost(void)
{
	machine_check();
	EXPLORE_CHECK(word_of(NOTE) + badge(root) == 1 && running(1) == a, "a signal is lost or made twice");
}

static const struct explore_case cases[] = {
	MACHINE_CASE("signal travels", 2, signal_travels, a_has_the_signal),
	MACHINE_CASE("wait travels", 2, wait_travels, a_has_the_signal),
	MACHINE_CASE("twice in a row", 2, polls_and_signals, a_took_its_own),
	MACHINE_CASE("both directions", 2, both_directions, both_signalled),
	MACHINE_CASE("two visitors", 3, two_visitors, both_visited),
	MACHINE_CASE("three visitors", 2, three_visitors, all_visited),
	MACHINE_CASE("call travels", 2, call_travels, a_has_the_call),
	MACHINE_CASE("receive travels", 2, receive_travels, a_has_the_call),
	MACHINE_CASE("two homes", 2, two_homes, a_has_the_call),
	MACHINE_CASE("bound elsewhere", 2, bound_elsewhere, a_has_its_signal),
	MACHINE_CASE("bound and sent to", 2, bound_and_sent_to, signalled_once),
	MACHINE_CASE("reply object elsewhere", 2, reply_object_elsewhere, replied_or_not),
	MACHINE_CASE("reply travels", 2, reply_travels, root_has_the_reply),
	MACHINE_CASE("a wait is suspended", 2, suspended, a_is_stopped),
	MACHINE_CASE("a signal is suspended", 2, signals_and_is_suspended, signalled_or_not),
	MACHINE_CASE("suspended and resumed", 2, suspended_and_resumed, a_signalled),
	MACHINE_CASE("destroyed", 2, destroyed, a_is_gone),
	MACHINE_CASE("what it goes to is deleted", 2, object_deleted, a_was_told),
	MACHINE_CASE("told to move", 2, moved, a_moved),
	MACHINE_CASE("the object comes to its core", 2, comes_to_its_core, all_signalled),
	MACHINE_CASE("the object goes to a third core", 3, goes_to_a_third, all_signalled),
	MACHINE_CASE("home and away", 2, home_and_away, all_signalled),
	MACHINE_CASE("polls beside its home", 2, polls_beside, nothing_is_lost),
	MACHINE_CASE("becomes local", 2, becomes_local, nothing_is_lost),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
