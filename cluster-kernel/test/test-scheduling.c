/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"

enum { A = 1000, B = 1010 };

static void a_thread_deletes_itself(void)
{
	struct thread *a = make_thread(A, 255, 0), *root = running(0);
	uint64_t idle = machine->kernel.cpu[0]->own.stat->idle_cycles;
	simple(0, SYS_YIELD, 0);
	EXPECT(running(0), a);
	EXPECT(call(CNODE, CNODE_DELETE, W(A), NONE), 0);
	EXPECT(running(0), root);
	EXPECT(machine->kernel.cpu[0]->own.stat->idle_cycles - idle < 100, true);
}

/* The victim is about to make a system call while it is suspended: then or later, but once, and never half. */
static void no_system_call_is_lost(void)
{
	enum { NOTE = 1050, SENDER = 1060 };
	struct thread *victim = make_thread(A, 100, 1);
	struct hosted_call signal = { .number = SYS_SIGNAL, .cptr = NOTE };
	struct hosted_call suspend = { .number = SYS_CALL, .cptr = A, .info = message_info(TCB_SUSPEND, 0, 0) };
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	uint64_t before = victim->context.registers.rip;
	hosted_post_call(machine, 1, &signal);
	hosted_post_call(machine, 0, &suspend);
	settle();
	simple(0, SYS_POLL, NOTE);
	bool made = badge(running(0)) == 1;
	EXPECT(victim->state, THREAD_INACTIVE);
	EXPECT(victim->context.registers.rip, made ? before + SYSCALL_SIZE : before);
	if (made)
		EXPECT(result(victim), 0);
}

/*
 * A thread waits; its core has let go of the lock and still holds the thread's
 * state when another core destroys the thread and uses its memory again. That one
 * must wait for the state to be saved: the hosted port's save sees it otherwise.
 */
enum { POOL = 1050, REUSED = 1051, PATIENCE = 1000 };
static unsigned turns;

static unsigned core_1_lags(void *argument, unsigned count)
{
	const struct cpu *cpu = machine->kernel.cpu[1];
	bool unsaved = cpu->own.loaded_thread && cpu->shared.current == &cpu->shared.idle;
	(void)argument, (void)count;
	if (turns >= PATIENCE)
		return turns++ % 2; /* the other one may wait for it */
	return unsaved ? turns++ >= PATIENCE : turns == 0;
}

static bool destroy_and_reuse(void *argument, struct hosted *on, unsigned core)
{
	unsigned *step = argument;
	struct hosted_call order[] = {
		{ .number = SYS_CALL, .cptr = CNODE, .info = message_info(CNODE_REVOKE, 0, 1), .word = { POOL } },
		{ .number = SYS_CALL, .cptr = POOL, .info = message_info(UNTYPED_RETYPE, 1, 4),
		  .word = { OBJECT_TCB, 0, REUSED, 1 } },
	};
	if (core || *step == 2)
		return false;
	thread_ipc_buffer(on->root)->caps[0] = CNODE;
	hosted_post_call(on, core, &order[(*step)++]);
	return true;
}

static void a_thread_is_destroyed_before_it_is_saved(void)
{
	enum { NOTE = 1060 };
	uint64_t start[21] = { 1, 0x1000, 0x2000 };
	unsigned step = 0;
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_UNTYPED, TCB_BITS, POOL, 1);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_TCB, 0, A, 1), W(CNODE)), 0);
	EXPECT(call(A, TCB_CONFIGURE, W(0, 0), W(CNODE, VSPACE)), 0);
	EXPECT(call(A, TCB_SCHEDULE, W(100, 1), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(A, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	struct hosted_call wait = { .number = SYS_WAIT, .cptr = NOTE };
	turns = 0;
	machine->config.choose = core_1_lags;
	machine->config.program = destroy_and_reuse;
	machine->config.program_argument = &step;
	hosted_post_call(machine, 1, &wait);
	settle();
	machine->config.program = 0;
	EXPECT(machine->config.threads || turns, true);
	EXPECT(step, 2);
	EXPECT(result(machine->root), 0);
	EXPECT(slot_of(REUSED)->cap.type, OBJECT_TCB);
}

/* An address space goes while other cores have it loaded: their threads in other spaces go on. */
static void an_address_space_goes_under_others(void)
{
	enum { SPACE = 1050 };
	make(OBJECT_VSPACE, 0, SPACE, 1);
	struct thread *a = make_thread(A, 100, 1), *b = make_thread(B, 100, 1);
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(A, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACE, A + 1)), 0);
	EXPECT(call(A, TCB_RESUME, NONE, NONE), 0);
	while (running(1) != a)
		syscall_on(1, SYS_YIELD, 0, 0, NONE, NONE, 0);
	struct hosted_call yield = { .number = SYS_YIELD };
	struct hosted_call delete_space = { .number = SYS_CALL, .cptr = CNODE, .info = message_info(CNODE_DELETE, 0, 1),
		                            .word = { SPACE } };
	revoke(SPACE);
	hosted_post_call(machine, 1, &yield);
	hosted_post_call(machine, 0, &delete_space);
	settle();
	EXPECT(a->state, THREAD_READY);
	EXPECT(b->state, THREAD_READY);
	EXPECT(running(1) == a || running(1) == b, true);
}

static void one_leaves_from_below(void)
{
	struct thread *higher = make_thread(A, 100, 0);
	make_thread(B, 50, 0);
	EXPECT(call(B, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(machine->kernel.cpu[0]->shared.ready.highest, 100);
	root_priority(1);
	EXPECT(running(0), higher);
}

TESTS(scheduling) = {
	{ "a thread deletes itself", a_thread_deletes_itself, 1 },
	{ "a thread is destroyed before it is saved", a_thread_is_destroyed_before_it_is_saved, 2 },
	{ "no system call is lost", no_system_call_is_lost, 2 },
	{ "an address space goes under others", an_address_space_goes_under_others, 2 },
	{ "a thread leaves the queue below others", one_leaves_from_below, 1 },
	{ 0 },
};
