/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that lack what a message needs: an IPC buffer, a reply object, a fault handler. */
#include "harness.h"
#include "message.h"

enum { EP = 1000, NOTE = 1002, REPLY = 1003, THREAD = 1010 };

/* A thread that has no IPC buffer, on core 1, with a CSpace and all. */
static struct thread *bare(uint64_t slot)
{
	struct thread *thread = make_thread(slot, 100, 1);
	EXPECT(call(slot, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(slot, TCB_CONFIGURE, W(0, 0), W(CNODE, VSPACE)), 0);
	EXPECT(call(slot, TCB_RESUME, NONE, NONE), 0);
	settle();
	EXPECT(thread_ipc_buffer(thread) == 0, true);
	EXPECT(running(1) == thread, true);
	return thread;
}

static void no_buffer(void)
{
	static const uint64_t registers[21] = { 0, 0x1234 };
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	make_thread(THREAD + 2, 50, 0);
	EXPECT(call(THREAD + 2, TCB_SUSPEND, NONE, NONE), 0);
	struct thread *thread = bare(THREAD);
	EXPECT(syscall_on(1, SYS_CALL, CNODE, CNODE_COPY, W(EP + 1, EP, RIGHT_ALL), W(CNODE), 0), SKERRY_BAD_CAP);
	EXPECT(syscall_on(1, SYS_CALL, THREAD + 2, TCB_WRITE_REGISTERS, registers, 21, NONE, 0), 0);
	EXPECT(syscall_on(1, SYS_CALL, THREAD + 2, TCB_READ_REGISTERS, NONE, NONE, 0), 0);
	EXPECT(word(thread, 0), 0x1234);
	/* a long message from it, and one to it: what is in registers arrives */
	syscall_on(1, SYS_SEND, EP, 9, registers, 21, NONE, 0);
	EXPECT(syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY), 0);
	EXPECT(message_words(running(0)->context.registers.rsi), MESSAGE_REGISTERS);
	EXPECT(word(running(0), 1), 0x1234);
	settle();
	syscall_on(1, SYS_RECV, EP, 0, NONE, NONE, 0);
	EXPECT(syscall_on(0, SYS_SEND, EP, 9, registers, 21, W(NOTE, NOTE), 0), 0);
	EXPECT(message_words(thread->context.registers.rsi), MESSAGE_REGISTERS);
	EXPECT(message_caps(thread->context.registers.rsi), 0);
}

/* A fault of five words goes to a handler without a buffer, which receives with `reply`. Returns the thread that faulted. */
static struct thread *fault_to_bare_handler(uint64_t reply)
{
	const uint64_t words[5] = { 1, 2, 3, 4, 5 };
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	struct thread *handler = bare(THREAD), *faulty = make_thread(THREAD + 2, 100, 0);
	EXPECT(call(THREAD + 2, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(THREAD + 2, TCB_CONFIGURE, W(1024, EP), W(CNODE, VSPACE, THREAD + 3)), 0);
	EXPECT(call(THREAD + 2, TCB_RESUME, NONE, NONE), 0);
	syscall_on(1, SYS_RECV, EP, 0, NONE, NONE, reply);
	root_priority(1);
	settle();
	EXPECT(running(0) == faulty, true);
	hosted_post_fault(machine, 0, FAULT_EXCEPTION, 5, words);
	settle();
	EXPECT(message_words(handler->context.registers.rsi), MESSAGE_REGISTERS);
	EXPECT(word(handler, 3), 4);
	return faulty;
}

static void handler_without_buffer(void) { EXPECT(fault_to_bare_handler(REPLY)->state, THREAD_REPLY); }
static void handler_without_reply(void) { EXPECT(fault_to_bare_handler(0)->state, THREAD_INACTIVE); }

/* What a thread names as its fault handler may be anything. */
static void no_handler(void)
{
	static const unsigned kinds[] = { NOTE, REPLY, CNODE, ROOT_SLOT_TCB, EP + 1, 0 };
	const uint64_t words[5] = { 1, 2, 3, 4, 5 };
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	copy(EP + 1, EP, RIGHT_ALL & ~RIGHT_WRITE, 0);
	struct thread *faulty = make_thread(THREAD, 200, 0);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		EXPECT(call(THREAD, TCB_SUSPEND, NONE, NONE), 0);
		EXPECT(call(THREAD, TCB_CONFIGURE, W(1024, kinds[i]), W(CNODE, VSPACE, THREAD + 1)), 0);
		EXPECT(call(THREAD, TCB_RESUME, NONE, NONE), 0);
		root_priority(1);
		settle();
		EXPECT(running(0) == faulty, true);
		hosted_post_fault(machine, 0, FAULT_EXCEPTION, 5, words);
		settle();
		EXPECT(faulty->state, THREAD_INACTIVE);
		EXPECT(faulty->faulting, 0);
	}
}

/* As if it had been suspended in a retype: what was left of that is not the new registers'. */
static void new_registers(void)
{
	static const uint64_t registers[21] = { 0, 0x1000, 0x2000 };
	struct thread *thread = make_thread(THREAD, 50, 0);
	EXPECT(call(THREAD, TCB_SUSPEND, NONE, NONE), 0);
	thread->retype_left = 1000 << 16 | 5;
	EXPECT(call(THREAD, TCB_WRITE_REGISTERS, registers, 21, NONE), 0);
	EXPECT(thread->retype_left, 0);
}

const struct test tests[] = {
	{ "new registers end a retype", new_registers, 1 },
	{ "a fault handler that is none", no_handler, 1 },
	{ "a thread without an IPC buffer", no_buffer, 2 },
	{ "a handler without an IPC buffer", handler_without_buffer, 2 },
	{ "a handler without a reply object", handler_without_reply, 2 },
	{ 0 },
};
