/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that traps is suspended on the way to the kernel, at any moment: the trap is reported once. */
#include "harness.h"
#include "message.h"

enum { EP = 1000, REPLY = 1001, OTHER_EP = 1002, THREAD = 1010, TRAP_SIZE = 2 };

static struct thread *thread;
static uint64_t rip;

static void configure(uint64_t handler)
{
	EXPECT(call(THREAD, TCB_CONFIGURE, W(1024, handler), W(CNODE, VSPACE, THREAD + 1)), 0);
}

static void suspend(void) { EXPECT(call(THREAD, TCB_SUSPEND, NONE, NONE), 0); }
static void resume(void) { EXPECT(call(THREAD, TCB_RESUME, NONE, NONE), 0); }

/* The thread, suspended on core 1, with EP for its faults. */
static void make_all(void)
{
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_ENDPOINT, 0, OTHER_EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	thread = make_thread(THREAD, 100, 1);
	suspend();
	configure(EP);
}

/* False when the thread was stopped before its trap. */
static bool stopped_in_a_trap(void)
{
	const struct hosted_call order = { .number = SYS_CALL, .cptr = THREAD,
	                                   .info = message_info(TCB_SUSPEND, 0, 0) };
	make_all();
	resume();
	settle();
	EXPECT(running(1), thread);
	rip = thread->context.registers.rip + TRAP_SIZE;
	hosted_post_call(machine, 0, &order);
	hosted_post_trap(machine, 1);
	settle();
	EXPECT(thread->state, THREAD_INACTIVE);
	EXPECT(thread->context.raise, hosted_done(machine, 1));
	EXPECT(thread->context.registers.rip, hosted_done(machine, 1) ? rip : rip - TRAP_SIZE);
	return hosted_done(machine, 1);
}

static void expect_nothing_at(uint64_t endpoint)
{
	EXPECT(syscall_on(0, SYS_NB_RECV, endpoint, 0, NONE, NONE, REPLY), SKERRY_WOULD_BLOCK);
}

static void expect_one_report(uint64_t endpoint)
{
	EXPECT(syscall_on(0, SYS_RECV, endpoint, 0, NONE, NONE, REPLY), 0);
	EXPECT(word(running(0), 0), rip);
	EXPECT(word(running(0), 3), HOSTED_TRAP);
	EXPECT(syscall_on(0, SYS_REPLY, 0, 0, NONE, NONE, REPLY), 0);
	settle();
	EXPECT(thread->state, THREAD_READY);
	EXPECT(thread->context.raise, false);
	EXPECT(thread->context.registers.rip, rip);
	expect_nothing_at(EP);
	expect_nothing_at(OTHER_EP);
}

static void then_resumed(void)
{
	if (!stopped_in_a_trap())
		return;
	resume();
	expect_one_report(EP);
}

static void then_moved(void)
{
	if (!stopped_in_a_trap())
		return;
	EXPECT(call(THREAD, TCB_SCHEDULE, W(100, 0), W(ROOT_SLOT_TCB)), 0);
	resume();
	expect_one_report(EP);
}

static void then_given_another_handler(void)
{
	if (!stopped_in_a_trap())
		return;
	configure(OTHER_EP);
	resume();
	settle();
	expect_nothing_at(EP);
	expect_one_report(OTHER_EP);
}

static void then_left_without_handler(void)
{
	if (!stopped_in_a_trap())
		return;
	delete(EP);
	uint32_t before = machine->console_size;
	resume();
	settle();
	EXPECT(thread->state, THREAD_INACTIVE);
	EXPECT(thread->context.raise, false);
	EXPECT(machine->console_size > before, true);
	before = machine->console_size;
	resume();
	settle();
	EXPECT(running(1), thread);
	EXPECT(machine->console_size, before);
}

static void then_given_registers(void)
{
	const uint64_t start[21] = { 1, 0x5000, 0x6000 }; /* resume, RIP, RSP */
	if (!stopped_in_a_trap())
		return;
	EXPECT(call(THREAD, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	settle();
	EXPECT(running(1), thread);
	EXPECT(thread->context.registers.rip, 0x5000);
	expect_nothing_at(EP);
}

/* Read: the report does not end by that. */
static void then_read(void)
{
	if (!stopped_in_a_trap())
		return;
	EXPECT(call(THREAD, TCB_READ_REGISTERS, NONE, NONE), 0);
	resume();
	expect_one_report(EP);
}

static void then_deleted(void)
{
	stopped_in_a_trap();
	delete(THREAD);
	settle();
	expect_nothing_at(EP);
	thread = make_thread(THREAD + 4, 100, 1);
	EXPECT(running(1), thread);
}

/* Again and again while it raises the trap; in the end it is reported once. */
static void then_stopped_again(void)
{
	const struct hosted_call order = { .number = SYS_CALL, .cptr = THREAD,
	                                   .info = message_info(TCB_SUSPEND, 0, 0) };
	if (!stopped_in_a_trap())
		return;
	for (unsigned i = 0; i < 5; i++) {
		struct hosted_call go = order;
		go.info = message_info(TCB_RESUME, 0, 0);
		hosted_post_call(machine, 0, &go);
		while (!hosted_done(machine, 0))
			hosted_run(machine);
		hosted_post_call(machine, 0, &order);
		settle();
		EXPECT(thread->state, THREAD_INACTIVE);
		EXPECT(thread->context.raise, true);
		EXPECT(thread->context.registers.rip, rip);
	}
	resume();
	expect_one_report(EP);
}

/* The handler waits already, on the core that suspends: either it has the report and keeps it, or it comes later. */
static void while_a_handler_waits(void)
{
	make_all();
	struct thread *handler = make_thread(THREAD + 4, 254, 1);
	syscall_on(1, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	resume();
	settle();
	EXPECT(running(1), thread);
	rip = thread->context.registers.rip + TRAP_SIZE;
	const struct hosted_call order = { .number = SYS_CALL, .cptr = THREAD,
	                                   .info = message_info(TCB_SUSPEND, 0, 0) };
	hosted_post_call(machine, 0, &order);
	hosted_post_trap(machine, 1);
	settle();
	EXPECT(thread->state, THREAD_INACTIVE);
	if (!hosted_done(machine, 1))
		return;
	bool reported = handler->state != THREAD_RECEIVING;
	EXPECT(thread->context.raise, !reported);
	EXPECT(thread->context.registers.rip, rip);
	resume();
	settle();
	EXPECT(handler->state, THREAD_READY);
	EXPECT(word(handler, 0), rip);
	if (reported) {
		EXPECT(thread->faulting, 0);
		EXPECT(thread->state, THREAD_READY);
	} else {
		EXPECT(thread->state, THREAD_REPLY);
	}
}

TESTS(traps) = {
	{ "stopped in a trap, then resumed", then_resumed, 2 },
	{ "stopped in a trap, then moved", then_moved, 2 },
	{ "stopped in a trap, then given another handler", then_given_another_handler, 2 },
	{ "stopped in a trap, then left without handler", then_left_without_handler, 2 },
	{ "stopped in a trap, then given registers", then_given_registers, 2 },
	{ "stopped in a trap, then read", then_read, 2 },
	{ "stopped in a trap, then deleted", then_deleted, 2 },
	{ "stopped in a trap, then stopped again", then_stopped_again, 2 },
	{ "stopped in a trap while a handler waits", while_a_handler_waits, 2 },
	{ 0 },
};
