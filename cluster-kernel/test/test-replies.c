/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"
#include "message.h"
#include "reply.h"

enum { EP = 1000, REPLY = 1001, CLIENT = 1010, FAULT_EP = 1002 };

/* The client has called, the root task has received and holds it in REPLY. */
static struct thread *called(void)
{
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	struct thread *client = make_thread(CLIENT, 255, 0);
	simple(0, SYS_YIELD, 0);
	EXPECT(running(0), client);
	syscall_on(0, SYS_CALL, EP, 3, W(30), NONE, 0);
	EXPECT(client->state, THREAD_SENDING);
	EXPECT(syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY), 0);
	EXPECT(word(running(0), 0), 30);
	EXPECT(client->state, THREAD_REPLY);
	return client;
}

static uint64_t reply(uint64_t label, uint64_t value) { return syscall_on(0, SYS_REPLY, 0, label, W(value), NONE, REPLY); }

static void once_only(void)
{
	struct thread *client = called();
	EXPECT(syscall_on(0, SYS_NB_RECV, EP, 0, NONE, NONE, REPLY), SKERRY_BUSY);
	EXPECT(reply(8, 99), 0);
	EXPECT(client->state, THREAD_READY);
	EXPECT(word(client, 0), 99);
	EXPECT(message_label(context_info(&client->context)), 8);
	EXPECT(reply(8, 98), SKERRY_NO_REPLY);
	EXPECT(syscall_on(0, SYS_REPLY, 0, 0, NONE, NONE, 0), SKERRY_BAD_CAP);
	EXPECT(syscall_on(0, SYS_REPLY, 0, 0, NONE, NONE, EP), SKERRY_BAD_CAP);
}

static void the_reply_object_goes(void)
{
	struct thread *client = called();
	delete(REPLY);
	EXPECT(client->state, THREAD_READY);
	EXPECT(result(client), SKERRY_DELETED);
}

static void the_caller_goes(void)
{
	called();
	const struct reply *object = (const struct reply *)slot_of(REPLY)->cap.object;
	delete(CLIENT);
	EXPECT(object->thread, 0);
	EXPECT(reply(0, 0), SKERRY_NO_REPLY);
}

static void the_caller_is_suspended(void)
{
	struct thread *client = called();
	EXPECT(call(CLIENT, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(client->state, THREAD_INACTIVE);
	EXPECT(reply(0, 0), SKERRY_NO_REPLY);
	EXPECT(call(CLIENT, TCB_RESUME, NONE, NONE), 0);
	EXPECT(client->state, THREAD_READY);
}

/* The client faults and its fault arrives. */
static struct thread *faulted(void)
{
	static const uint64_t words[4] = { 0x1234, 0x5678, 0xdead000, 6 };
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	copy(FAULT_EP, EP, RIGHT_WRITE, 77);
	struct thread *client = make_thread(CLIENT, 255, 0);
	client->fault_cptr = FAULT_EP;
	simple(0, SYS_YIELD, 0);
	client->context.registers.rbx = 4711;
	hosted_post_fault(machine, 0, FAULT_PAGE, 4, words);
	settle();
	EXPECT(syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY), 0);
	EXPECT(badge(running(0)), 77);
	EXPECT(message_label(context_info(&running(0)->context)), FAULT_PAGE);
	for (unsigned i = 0; i < 4; i++)
		EXPECT(word(running(0), i), words[i]);
	return client;
}

static void a_fault_is_answered(void)
{
	struct thread *client = faulted();
	struct thread_registers before = client->context.registers;
	EXPECT(reply(0, 5), 0);
	EXPECT(client->state, THREAD_READY);
	EXPECT(client->context.registers.rdx, before.rdx); /* registers stay as they are */
	EXPECT(client->context.registers.rbx, 4711);
}

static void a_fault_is_fatal(void)
{
	struct thread *client = faulted();
	EXPECT(reply(1, 0), 0);
	EXPECT(client->state, THREAD_INACTIVE);
	EXPECT(client->faulting, 0);
}

static void nobody_handles_a_fault(void)
{
	static const uint64_t words[4] = { 1, 2, 3, 4 };
	struct thread *client = make_thread(CLIENT, 255, 0), *root = running(0);
	simple(0, SYS_YIELD, 0);
	hosted_post_fault(machine, 0, FAULT_EXCEPTION, 4, words);
	settle();
	EXPECT(client->state, THREAD_INACTIVE);
	EXPECT(running(0), root);
	EXPECT(machine->console_size != 0, true);
}

static void an_unknown_system_call_is_a_fault(void)
{
	struct thread *client = make_thread(CLIENT, 255, 0);
	simple(0, SYS_YIELD, 0);
	simple(0, 1234, 0);
	EXPECT(client->state, THREAD_INACTIVE);
}

const struct test tests[] = {
	{ "a caller is answered once only", once_only, 1 },
	{ "the reply object goes", the_reply_object_goes, 1 },
	{ "the caller goes", the_caller_goes, 1 },
	{ "the caller is suspended", the_caller_is_suspended, 1 },
	{ "a fault is answered", a_fault_is_answered, 1 },
	{ "a fault is fatal", a_fault_is_fatal, 1 },
	{ "nobody handles a fault", nobody_handles_a_fault, 1 },
	{ "an unknown system call is a fault", an_unknown_system_call_is_a_fault, 1 },
	{ 0 },
};
