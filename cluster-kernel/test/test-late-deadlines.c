/* SPDX-License-Identifier: BSD-2-Clause */
/* A deadline passed below what its core ran: it is due as soon as the core comes down, whatever ends the higher
 * thread. */
#include "harness.h"
#include "message.h"

enum { NOTE = 1000, EP = 1001, REPLY = 1002, LOW = 1010, HIGH = 1020, CLIENT = 1030, COPY = 1040 };
enum { SOON = 10000 };

static struct thread *low, *high;

/* On core 1 the high thread runs; the low one's deadline has passed. */
static void begin(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	low = make_thread(LOW, 100, 1);
	syscall_on(1, SYS_WAIT, NOTE, 0, W(machine->time + SOON), NONE, 0);
	high = make_thread(HIGH, 200, 1);
	hosted_advance(machine, 2 * SOON);
	settle();
	EXPECT(running(1), high);
	EXPECT(low->state, THREAD_WAITING);
}

static void expect_due(void)
{
	settle();
	EXPECT(running(1), low);
	EXPECT(result(low), SKERRY_TIMED_OUT);
}

static void after_a_wait(void)
{
	begin();
	syscall_on(1, SYS_WAIT, NOTE, 0, W(0), NONE, 0);
	expect_due();
}

static void after_suspension_by_another_core(void)
{
	begin();
	EXPECT(call(HIGH, TCB_SUSPEND, NONE, NONE), 0);
	expect_due();
}

static void after_deletion_by_another_core(void)
{
	begin();
	delete(HIGH);
	expect_due();
}

static void after_its_own_deletion(void)
{
	struct hosted_call order = { .number = SYS_CALL, .cptr = CNODE, .info = message_info(CNODE_DELETE, 0, 1),
		                     .word = { HIGH } };
	begin();
	hosted_post_call(machine, 1, &order);
	expect_due();
}

static void after_a_move(void)
{
	begin();
	EXPECT(call(HIGH, TCB_SCHEDULE, W(200, 0), W(ROOT_SLOT_TCB)), 0);
	expect_due();
}

static void after_a_lower_priority(void)
{
	begin();
	EXPECT(call(HIGH, TCB_SCHEDULE, W(50, 1), W(ROOT_SLOT_TCB)), 0);
	expect_due();
	EXPECT(high->state, THREAD_READY);
}

static void after_a_lower_priority_of_its_own_giving(void)
{
	begin();
	EXPECT(syscall_on(1, SYS_CALL, HIGH, TCB_SCHEDULE, W(99, 1), W(ROOT_SLOT_TCB), 0), 0);
	expect_due();
}

static void after_a_fault_without_handler(void)
{
	static const uint64_t words[4] = { 1, 2, 3, 4 };
	begin();
	hosted_post_fault(machine, 1, FAULT_PAGE, 4, words);
	expect_due();
	EXPECT(high->state, THREAD_INACTIVE);
}

static void after_its_space_went(void)
{
	make(OBJECT_VSPACE, 0, COPY, 1);
	begin();
	EXPECT(call(HIGH, TCB_SUSPEND, NONE, NONE), 0);
	expect_due();
	EXPECT(call(HIGH, TCB_CONFIGURE, W(1024, 0), W(CNODE, COPY, HIGH + 1)), 0);
	syscall_on(1, SYS_WAIT, NOTE, 0, W(machine->time + SOON), NONE, 0);
	EXPECT(call(HIGH, TCB_RESUME, NONE, NONE), 0);
	hosted_advance(machine, 2 * SOON);
	settle();
	EXPECT(running(1), high);
	EXPECT(low->state, THREAD_WAITING);
	delete(COPY);
	EXPECT(call(HIGH, TCB_SUSPEND, NONE, NONE), 0);
	expect_due();
}

/* Up by the fast path, which does not look at deadlines; down by the slow one, which does. */
static void after_a_call_to_a_higher_server(void)
{
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	struct thread *server = make_thread(HIGH, 200, 1);
	syscall_on(1, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	low = make_thread(LOW, 100, 1);
	syscall_on(1, SYS_WAIT, NOTE, 0, W(machine->time + SOON), NONE, 0);
	struct thread *client = make_thread(CLIENT, 50, 1);
	syscall_on(1, SYS_CALL, EP, 0, W(7), NONE, 0);
	EXPECT(running(1), server);
	EXPECT(client->state, THREAD_REPLY);
	hosted_advance(machine, 2 * SOON);
	settle();
	EXPECT(running(1), server);
	EXPECT(low->state, THREAD_WAITING);
	syscall_on(1, SYS_REPLY_RECV, EP, 0, W(8), NONE, REPLY);
	expect_due();
	EXPECT(client->state, THREAD_READY);
	EXPECT(word(client, 0), 8);
}

/* At the ends of the range of priorities and in the middle: each is due when the core comes down to it, not before. */
static void priority_by_priority(void)
{
	static const unsigned priority[] = { 0, 1, 127, 128, 254 };
	enum { COUNT = sizeof(priority) / sizeof(priority[0]) };
	struct thread *thread[COUNT];
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	for (unsigned i = 0; i < COUNT; i++) {
		thread[i] = make_thread(LOW + 2 * i, priority[i], 1);
		syscall_on(1, SYS_WAIT, NOTE, 0, W(machine->time + (COUNT - i) * SOON), NONE, 0);
	}
	high = make_thread(CLIENT, 255, 1);
	hosted_advance(machine, 2 * COUNT * SOON);
	settle();
	for (unsigned i = COUNT; i--;) {
		EXPECT(call(CLIENT, TCB_SCHEDULE, W(priority[i] + 1, 1), W(ROOT_SLOT_TCB)), 0);
		settle();
		EXPECT(running(1), high);
		EXPECT(thread[i]->state, THREAD_WAITING);
		EXPECT(call(CLIENT, TCB_SCHEDULE, W(priority[i], 1), W(ROOT_SLOT_TCB)), 0);
		settle();
		EXPECT(thread[i]->state, THREAD_READY);
		EXPECT(result(thread[i]), SKERRY_TIMED_OUT);
		EXPECT(call(LOW + 2 * i, TCB_SUSPEND, NONE, NONE), 0);
	}
}

TESTS(late_deadlines) = {
	{ "late deadlines: after a wait", after_a_wait, 2 },
	{ "late deadlines: after a suspension by another core", after_suspension_by_another_core, 2 },
	{ "late deadlines: after a deletion by another core", after_deletion_by_another_core, 2 },
	{ "late deadlines: after its own deletion", after_its_own_deletion, 2 },
	{ "late deadlines: after a move", after_a_move, 2 },
	{ "late deadlines: after a lower priority", after_a_lower_priority, 2 },
	{ "late deadlines: after a lower priority of its own giving", after_a_lower_priority_of_its_own_giving, 2 },
	{ "late deadlines: after a fault without handler", after_a_fault_without_handler, 2 },
	{ "late deadlines: after its space went", after_its_space_went, 2 },
	{ "late deadlines: after a call to a higher server", after_a_call_to_a_higher_server, 2 },
	{ "late deadlines: priority by priority", priority_by_priority, 2 },
	{ 0 },
};
