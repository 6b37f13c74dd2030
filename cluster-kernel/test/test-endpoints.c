/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"
#include "message.h"

enum { EP = 1000, REPLY = 1001, READ_ONLY = 1002, WRITE_ONLY = 1003, BADGED = 1004, SERVER = 1010, CLIENT = 1020 };

static void objects(void)
{
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	copy(READ_ONLY, EP, RIGHT_READ, 0);
	copy(WRITE_ONLY, EP, RIGHT_WRITE, 0);
	copy(BADGED, EP, RIGHT_ALL, 42);
}

static uint64_t send_on(unsigned core, unsigned number, uint64_t cptr)
{
	return syscall_on(core, number, cptr, 9, W(1, 2, 3, 4, 5, 6), NONE, 0);
}
static uint64_t receive_on(unsigned core, unsigned number, uint64_t cptr)
{
	return syscall_on(core, number, cptr, 0, NONE, NONE, REPLY);
}

static void expect_message(const struct thread *thread)
{
	EXPECT(result(thread), 0);
	EXPECT(badge(thread), 42);
	EXPECT(context_info(&thread->context), message_info(9, 0, 6));
	for (unsigned i = 0; i < 6; i++)
		EXPECT(word(thread, i), i + 1);
}

static void across_cores(void)
{
	objects();
	struct thread *server = make_thread(SERVER, 100, 1);
	EXPECT(running(1), server);
	receive_on(1, SYS_RECV, EP);
	EXPECT(running(1), 0);
	send_on(0, SYS_CALL, BADGED);
	EXPECT(running(0), 0);
	EXPECT(running(1), server);
	expect_message(server);
	syscall_on(1, SYS_REPLY_RECV, EP, 7, W(11), NONE, REPLY);
	EXPECT(word(running(0), 0), 11);
	EXPECT(message_label(context_info(&running(0)->context)), 7);
}

/* A thread that was answered through a reply object sends and is stopped: the object holds another caller by then. */
static void an_old_reply_object(void)
{
	objects();
	make(OBJECT_ENDPOINT, 0, BADGED + 1, 1);
	for (unsigned i = 0; i < 2; i++) {
		struct thread *client = make_thread(CLIENT + 2 * i, 255, 0);
		simple(0, SYS_YIELD, 0);
		EXPECT(running(0), client);
		send_on(0, SYS_CALL, EP);
		EXPECT(receive_on(0, SYS_RECV, EP), 0);
		EXPECT(client->state, THREAD_REPLY);
		if (i)
			break;
		EXPECT(syscall_on(0, SYS_REPLY, 0, 0, NONE, NONE, REPLY), 0);
		simple(0, SYS_YIELD, 0);
		EXPECT(running(0), client);
		send_on(0, SYS_SEND, BADGED + 1);
		EXPECT(client->state, THREAD_SENDING);
	}
	EXPECT(call(CLIENT, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(syscall_on(0, SYS_REPLY, 0, 0, NONE, NONE, REPLY), 0);
}

/* The quantum ends with one of two waiters awake: until the deletion goes on, nobody can come to wait. */
static void ending(void)
{
	const struct hosted_call order = { .number = SYS_CALL, .cptr = CNODE, .info = message_info(CNODE_DELETE, 0, 1),
		                           .word = { EP } };
	struct thread *waiter[2];
	make(OBJECT_ENDPOINT, 0, EP, 1);
	for (unsigned i = 0; i < 2; i++) {
		waiter[i] = make_thread(SERVER + 2 * i, 255, 0);
		simple(0, SYS_YIELD, 0);
		EXPECT(running(0), waiter[i]);
		syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, 0);
	}
	machine->kernel.quantum = 1;
	hosted_post_call(machine, 0, &order);
	enter_once();
	EXPECT(waiter[0]->state, THREAD_READY);
	EXPECT(waiter[1]->state, THREAD_RECEIVING);
	EXPECT(slot_of(EP)->cap.type, OBJECT_ENDPOINT);
	EXPECT(slot_of(EP)->cap.rights, 0);
	settle();
	EXPECT(waiter[1]->state, THREAD_READY);
	EXPECT(slot_empty(slot_of(EP)), true);
}

const struct test tests[] = {
	{ "a call across cores", across_cores, 2 },
	{ "an old reply object", an_old_reply_object, 1 },
	{ "an endpoint that is ending", ending, 1 },
	{ 0 },
};
