/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, signals and wake-ups side by side, in regimes that let them: what stands between them are object locks. */
#include "check.h"
#include "endpoint.h"
#include "machine.h"
#include "message.h"
#include "notification.h"

enum { A = 1000, B = 1010, C = 1020, NOTE = 1050, OTHER, ENDPOINT, REPLY };

static struct thread *root, *a, *b, *c;

static void make_a_on(unsigned cores, unsigned core)
{
	machine_make(cores);
	root = running(0);
	a = make_thread(A, 100, core);
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	explore_name(a, sizeof(*a), "A");
}

static void on(unsigned core, uint64_t number, uint64_t cptr, uint64_t reply)
{
	const struct hosted_call call = { .number = number, .cptr = cptr, .reply = reply };
	hosted_post_call(machine, core, &call);
	settle();
}

static uint64_t word_of(uint64_t slot) { return ((struct notification *)slot_of(slot)->cap.object)->word; }
static bool signalled(const struct thread *thread)
{
	return message_label(context_info(&thread->context)) == RECV_NOTIFICATION;
}

/* A is told to leave its core, and waits before it does; the core it goes to wakes it, before it has left. */
static void leaves_and_woken(unsigned root_at)
{
	make_a_on(2, 1);
	root_priority(root_at);
	machine_does(a, SYS_WAIT, NOTE);
	machine_invokes(root, A, TCB_SCHEDULE, 101, 0, ROOT_SLOT_TCB);
	machine_does(root, SYS_SIGNAL, NOTE);
}

static void leaves_and_queued(void) { leaves_and_woken(255); }
static void leaves_and_runs(void) { leaves_and_woken(100); }

static void a_is_here(void)
{
	machine_check();
	EXPLORE_CHECK(a->core == 0 && a->state == THREAD_READY && running(1) == 0,
	              "the thread is not where it was told to go");
	EXPLORE_CHECK(machine_progress(a) == 1 ? badge(a) == 1 : word_of(NOTE) == 1, "the signal is lost");
}

/* Woken before it has left its core, it goes on there and waits again. */
static void woken_and_waits(void)
{
	make_a_on(2, 1);
	machine_does(a, SYS_WAIT, NOTE);
	machine_does(a, SYS_WAIT, OTHER);
	machine_does(root, SYS_SIGNAL, NOTE);
}

static void a_waits(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_WAITING && machine_progress(a) == 2 && running(1) == 0,
	              "the thread does not wait");
}

/* Suspended while its core waits to be the writer: its call was made, or its registers are as it made it. */
static void suspended_before_it_writes(void)
{
	make_a_on(2, 1);
	machine_invokes(a, CNODE, CNODE_DELETE, OTHER, 0, 0);
	machine_invokes(root, A, TCB_SUSPEND, 0, 0, 0);
}

static void made_or_not(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_INACTIVE && running(1) == 0, "the thread runs on");
	EXPLORE_CHECK((machine_progress(a) == 1) == slot_empty(slot_of(OTHER)), "its system call is half made");
	EXPLORE_CHECK(machine_progress(a) == 1 || result(a) != SKERRY_BAD_CAP, "a call that was not made has a result");
}

/* Two cores wake a thread of the other's, each. */
static void cross(void)
{
	make_a_on(2, 1);
	on(1, SYS_WAIT, OTHER, 0);
	b = make_thread(B, 100, 1);
	root_priority(100);
	c = make_thread(C, 200, 0);
	on(0, SYS_WAIT, NOTE, 0);
	EXPECT(call(C, TCB_SCHEDULE, W(100, 0), W(ROOT_SLOT_TCB)), 0);
	machine_does(root, SYS_SIGNAL, OTHER);
	machine_does(b, SYS_SIGNAL, NOTE);
}

static void both_woke(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_READY && c->state == THREAD_READY, "a signalled thread sleeps");
}

/* Two cores signal each other's thread and wait, each in one entry. */
static void in_turn(void)
{
	make_a_on(2, 1);
	machine_program(a, (struct hosted_call){ .number = SYS_SIGNAL_WAIT, .cptr = OTHER, .reply = NOTE }, 0);
	machine_program(root, (struct hosted_call){ .number = SYS_SIGNAL_WAIT, .cptr = NOTE, .reply = OTHER }, 0);
}

static void both_went_on(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_READY && root->state == THREAD_READY, "a signalled thread sleeps");
	EXPLORE_CHECK(!word_of(NOTE) && !word_of(OTHER), "a signal was made twice");
}

/* Two cores wake threads of a third. */
static void two_for_one(void)
{
	make_a_on(3, 1);
	on(1, SYS_WAIT, NOTE, 0);
	b = make_thread(B, 100, 1);
	on(1, SYS_WAIT, OTHER, 0);
	c = make_thread(C, 100, 2);
	machine_does(root, SYS_SIGNAL, NOTE);
	machine_does(c, SYS_SIGNAL, OTHER);
}

static void a_and_b_woke(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_READY && b->state == THREAD_READY, "a signalled thread sleeps");
}

static void bind(void) { EXPECT(call(A, TCB_BIND, NONE, W(NOTE)), 0); }

/* The bound thread begins to receive as the signal comes. */
static void signal_to_bound(void)
{
	make_a_on(2, 1);
	bind();
	machine_does(a, SYS_RECV, ENDPOINT);
	machine_does(root, SYS_SIGNAL, NOTE);
}

static void bound_was_told(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_READY && signalled(a) && badge(a) == 1 && !word_of(NOTE),
	              "the signal did not end the receive");
}

/* The same, of a server that answers. */
static void signal_to_server(void)
{
	make_a_on(2, 1);
	bind();
	b = make_thread(B, 100, 1);
	on(1, SYS_RECV, ENDPOINT, REPLY);
	on(1, SYS_CALL, ENDPOINT, 0);
	EXPECT(running(1) == a, true);
	machine_program(a, (struct hosted_call){ .number = SYS_REPLY_RECV, .cptr = ENDPOINT, .reply = REPLY }, 0);
	machine_does(root, SYS_SIGNAL, NOTE);
}

/* It receives already: a message, or the signal, and the other stays to be fetched. */
static void signal_and_message(void)
{
	make_a_on(3, 1);
	bind();
	on(1, SYS_RECV, ENDPOINT, REPLY);
	b = make_thread(B, 100, 2);
	machine_does(root, SYS_SIGNAL, NOTE);
	machine_does(b, SYS_CALL, ENDPOINT);
}

static void one_of_the_two(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_READY, "the receiver sleeps");
	EXPLORE_CHECK(signalled(a) ? !word_of(NOTE) && b->state == THREAD_SENDING : word_of(NOTE) == 1 &&
	              b->state == THREAD_REPLY, "a message or a signal is lost");
}

/* Two call one receiver: one is answered, the other sends. */
static void two_callers(void)
{
	make_a_on(3, 1);
	on(1, SYS_RECV, ENDPOINT, REPLY);
	b = make_thread(B, 100, 2);
	machine_does(root, SYS_CALL, ENDPOINT);
	machine_does(b, SYS_CALL, ENDPOINT);
}

static void one_is_received(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_READY && (root->state == THREAD_REPLY) != (b->state == THREAD_REPLY) &&
	              (root->state == THREAD_SENDING) != (b->state == THREAD_SENDING),
	              "of two messages not one was received");
}

/* Two answer one caller. */
static void two_answers(void)
{
	make_a_on(3, 1);
	b = make_thread(B, 100, 2);
	on(1, SYS_CALL, ENDPOINT, 0);
	on(0, SYS_RECV, ENDPOINT, REPLY);
	machine_program(root, (struct hosted_call){ .number = SYS_REPLY, .reply = REPLY }, 0);
	machine_program(b, (struct hosted_call){ .number = SYS_REPLY, .reply = REPLY }, 0);
}

static void one_answers(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(running(1) == a && (result(root) == SKERRY_OK) != (result(b) == SKERRY_OK),
	              "a caller was not answered once");
}

/* Somebody answers while the call is being made. */
static void answer_and_call_of(unsigned priority)
{
	make_a_on(2, 1);
	on(1, SYS_RECV, ENDPOINT, REPLY);
	b = make_thread(B, priority, 1);
	machine_program(root, (struct hosted_call){ .number = SYS_REPLY, .reply = REPLY }, 0);
	machine_does(b, SYS_CALL, ENDPOINT);
}

static void answer_and_fast_call(void) { answer_and_call_of(100); }
static void answer_and_slow_call(void) { answer_and_call_of(101); }

static void answered_or_waits(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(a->state == THREAD_READY && (b->state == THREAD_REPLY) == (result(root) == SKERRY_NO_REPLY),
	              "a caller was answered and waits, or the other way round");
}

/* A server answers and then must be the writer, to receive a capability; the answered caller is suspended in
 * between. */
static void suspended_in_between(void)
{
	make_a_on(2, 1);
	on(1, SYS_RECV, ENDPOINT, REPLY);
	b = make_thread(B, 100, 1);
	on(1, SYS_CALL, ENDPOINT, 0);
	c = make_thread(C, 200, 1);
	thread_ipc_buffer(c)->caps[0] = NOTE;
	const struct hosted_call send = { .number = SYS_SEND, .cptr = ENDPOINT, .info = message_info(0, 1, 0) };
	hosted_post_call(machine, 1, &send);
	settle();
	EXPECT(running(1) == a && c->state == THREAD_SENDING && b->state == THREAD_REPLY, true);
	machine_program(a, (struct hosted_call){ .number = SYS_REPLY_RECV, .cptr = ENDPOINT, .reply = REPLY }, 0);
	machine_invokes(root, B, TCB_SUSPEND, 0, 0, 0);
}

static void b_is_stopped(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(b->state == THREAD_INACTIVE && running(1) != b, "a suspended thread runs");
	EXPLORE_CHECK(machine_progress(a) == 1, "the server has not answered");
}

/* A deadline passes as A is woken; it waits again, for something else. */
static void deadline_and_again(void)
{
	make_a_on(2, 1);
	const struct hosted_call call = { .number = SYS_WAIT, .cptr = NOTE, .word = { machine->time + 1000 } };
	hosted_post_call(machine, 1, &call);
	settle();
	hosted_advance(machine, 5000);
	machine_does(a, SYS_WAIT, OTHER);
	machine_does(root, SYS_SIGNAL, NOTE);
}

static void waits_again(void)
{
	machine_check();
	EXPLORE_CHECK(a->state == THREAD_WAITING && machine_progress(a) == 1, "a deadline ended the wrong wait");
}

static const struct explore_case cases[] = {
	MACHINE_CASE("a thread leaves, waits and is queued", 2, leaves_and_queued, a_is_here),
	MACHINE_CASE("a thread leaves, waits and runs", 2, leaves_and_runs, a_is_here),
	MACHINE_CASE("a thread is woken and waits again", 2, woken_and_waits, a_waits),
	MACHINE_CASE("suspended before it writes", 2, suspended_before_it_writes, made_or_not),
	MACHINE_CASE("each wakes a thread of the other", 2, cross, both_woke),
	MACHINE_CASE("each signals the other and waits", 2, in_turn, both_went_on),
	MACHINE_CASE("two wake threads of a third", 3, two_for_one, a_and_b_woke),
	MACHINE_CASE("a signal meets a bound receive", 2, signal_to_bound, bound_was_told),
	MACHINE_CASE("a signal meets a bound server's answer", 2, signal_to_server, bound_was_told),
	MACHINE_CASE("a signal and a message for one receiver", 3, signal_and_message, one_of_the_two),
	MACHINE_CASE("two callers of one receiver", 3, two_callers, one_is_received),
	MACHINE_CASE("two answers to one caller", 3, two_answers, one_answers),
	MACHINE_CASE("an answer meets a fast call", 2, answer_and_fast_call, answered_or_waits),
	MACHINE_CASE("an answer meets a slow call", 2, answer_and_slow_call, answered_or_waits),
	MACHINE_CASE("suspended between answer and receive", 2, suspended_in_between, b_is_stopped),
	MACHINE_CASE("a deadline passes and it waits again", 2, deadline_and_again, waits_again),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
