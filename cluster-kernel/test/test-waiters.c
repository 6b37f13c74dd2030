/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of objects that many threads wait for, in many budgets, and what happens between these. */
#include "endpoint.h"
#include "harness.h"
#include "message.h"

enum { OTHER = 1040, HANDLER = 1042, PIN = 5 };
enum { WAITERS = 200, WAITER = 20000 };

/* Threads that wait for the object by this system call; the root task goes on then. */
static void make_waiters(unsigned number, uint64_t object)
{
	check_every(20);
	for (unsigned i = 0; i < WAITERS; i++)
		make_thread(WAITER + 2 * i, 50, 0);
	root_priority(10);
	for (unsigned i = 0; i < WAITERS; i++)
		simple(0, number, object);
	check_every(1);
	root_priority(255);
}

static unsigned still_waiting(void)
{
	unsigned n = 0;
	for (unsigned i = 0; i < WAITERS; i++) {
		const struct thread *thread = (const struct thread *)slot_of(WAITER + 2 * i)->cap.object;
		EXPECT(thread_waits(thread) || (thread->state == THREAD_READY && result(thread) == SKERRY_DELETED),
		       true);
		n += thread_waits(thread);
	}
	return n;
}

static void an_endpoint_with_many_waiters(void)
{
	make(OBJECT_ENDPOINT, 0, OTHER, 1);
	EXPECT(call(CNODE, CNODE_MOVE, W(OTHER + 1, OTHER), W(CNODE)), 0);
	make_waiters(SYS_RECV, OTHER + 1);
	stopped_begin();
	stopped_call(0, CNODE, CNODE_DELETE, W(OTHER + 1), NONE);
	unsigned now = still_waiting();
	EXPECT(now > 0 && now < WAITERS, true);
	EXPECT(simple(0, SYS_RECV, OTHER + 1), SKERRY_NO_RIGHTS); /* nobody new */
	EXPECT(simple(0, SYS_SEND, OTHER + 1), SKERRY_NO_RIGHTS);
	stopped_finish(0);
	EXPECT(still_waiting(), 0);
	EXPECT(slot_of(OTHER + 1)->cap.type, 0);
}

/* The budget ends with one of two waiters awake: until the deletion goes on, nobody can come to wait. */
static void an_endpoint_with_two_waiters(void)
{
	const struct hosted_call order = { .number = SYS_CALL, .cptr = CNODE, .info = message_info(CNODE_DELETE, 0, 1),
		                           .word = { OTHER } };
	struct thread *waiter[2];
	make(OBJECT_ENDPOINT, 0, OTHER, 1);
	for (unsigned i = 0; i < 2; i++) {
		waiter[i] = make_thread(WAITER + 2 * i, 255, 0);
		simple(0, SYS_YIELD, 0);
		EXPECT(running(0), waiter[i]);
		syscall_on(0, SYS_RECV, OTHER, 0, NONE, NONE, 0);
	}
	machine->kernel.work_budget = 1;
	hosted_post_call(machine, 0, &order);
	enter_once();
	EXPECT(waiter[0]->state, THREAD_READY);
	EXPECT(waiter[1]->state, THREAD_RECEIVING);
	EXPECT(slot_of(OTHER)->cap.type, OBJECT_ENDPOINT);
	EXPECT(slot_of(OTHER)->cap.rights, 0);
	settle();
	EXPECT(waiter[1]->state, THREAD_READY);
	EXPECT(slot_empty(slot_of(OTHER)), true);
}

/* An interrupt's notification that nothing but its handler still names. */
static void begin_handler(void)
{
	make(OBJECT_NOTIFICATION, 0, OTHER, 1);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(HANDLER, 0, PIN, 0), W(CNODE)), 0);
	EXPECT(call(HANDLER, IRQ_SET_NOTIFICATION, NONE, W(OTHER)), 0);
	make_waiters(SYS_WAIT, OTHER);
	delete(OTHER);
	stopped_begin();
}

static void a_notification_is_replaced(void)
{
	begin_handler();
	stopped_call(0, HANDLER, IRQ_SET_NOTIFICATION, NONE, W(STOPPED_NOTE));
	unsigned now = still_waiting();
	EXPECT(now > 0 && now < WAITERS, true);
	stopped_finish(0);
	EXPECT(still_waiting(), 0);
	hosted_raise_pin(machine, PIN);
	settle();
	EXPECT(simple(0, SYS_POLL, STOPPED_NOTE), 0);
	EXPECT(badge(stopped_high), 1);
}

static void a_handler_goes(void)
{
	begin_handler();
	stopped_call(0, CNODE, CNODE_DELETE, W(HANDLER), NONE);
	EXPECT(slot_of(HANDLER)->cap.type, OBJECT_IRQ_HANDLER);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(HANDLER + 1, 0, PIN, 0), W(CNODE)), SKERRY_BUSY);
	stopped_finish(0);
	EXPECT(still_waiting(), 0);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(HANDLER + 1, 0, PIN, 0), W(CNODE)), 0);
}

TESTS(waiters) = {
	{ "an endpoint with many waiters", an_endpoint_with_many_waiters, 1 },
	{ "an endpoint with two waiters", an_endpoint_with_two_waiters, 1 },
	{ "a notification with many waiters is replaced", a_notification_is_replaced, 1 },
	{ "a handler whose notification has many waiters", a_handler_goes, 1 },
	{ 0 },
};
