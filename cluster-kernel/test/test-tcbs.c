/* SPDX-License-Identifier: BSD-2-Clause */
/* Invocations of TCBs that change what a thread is while it does something. */
#include "harness.h"
#include "message.h"
#include "notification.h"

enum { A = 1000, EP = 1010, NODE = 1020, SPACE = 1030, REPLY = 1040 };

static uint64_t write(uint64_t tcb, uint64_t resume, uint64_t rip)
{
	uint64_t words[21] = { resume, rip };
	return call(tcb, TCB_WRITE_REGISTERS, words, 21, NONE);
}

static void registers_of_threads_that_stand_still(void)
{
	struct thread *a = make_thread(A, 100, 0);
	make(OBJECT_ENDPOINT, 0, EP, 1);
	EXPECT(write(A, 0, 0x1000), SKERRY_BUSY); /* ready */
	EXPECT(write(ROOT_SLOT_TCB, 0, 0x1000), SKERRY_BUSY);
	EXPECT(call(A, TCB_READ_REGISTERS, NONE, NONE), SKERRY_BUSY);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(10, 0), W(ROOT_SLOT_TCB)), 0);
	EXPECT(simple(0, SYS_RECV, EP), SYS_RECV); /* by A, which waits now */
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(255, 0), W(ROOT_SLOT_TCB)), 0);
	EXPECT(a->state, THREAD_RECEIVING);
	EXPECT(write(A, 0, 0x1000), SKERRY_BUSY);
	EXPECT(call(A, TCB_READ_REGISTERS, NONE, NONE), 0);
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(A, TCB_WRITE_REGISTERS, W(0), NONE), SKERRY_TRUNCATED);
	EXPECT(write(A, 0, 1ull << 63), SKERRY_BAD_ARGUMENT);
	EXPECT(write(A, 0, 0x1234), 0);
	EXPECT(a->state, THREAD_INACTIVE);
	EXPECT(write(A, 1, 0x1235), 0);
	EXPECT(a->state, THREAD_READY);
	EXPECT(a->context.registers.rip, 0x1235);
	make(OBJECT_TCB, 0, A + 2, 1);
	EXPECT(write(A + 2, 1, 0x1000), SKERRY_BAD_ARGUMENT); /* not configured */
	EXPECT(write(A + 2, 0, 0x1000), 0);
}

static void registers_of_a_thread_that_faulted(void)
{
	uint64_t words[4] = { 0x1111, 2, 3, 4 };
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	struct thread *a = make_thread(A, 100, 0);
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(A, TCB_CONFIGURE, W(1024, EP), W(CNODE, VSPACE, A + 1)), 0);
	EXPECT(call(A, TCB_RESUME, NONE, NONE), 0);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(10, 0), W(ROOT_SLOT_TCB)), 0);
	hosted_post_fault(machine, 0, FAULT_PAGE, 4, words);
	settle();
	EXPECT(a->faulting, 1);
	EXPECT(write(A, 1, 0x2222), 0); /* not received yet; still waits */
	EXPECT(a->faulting, 1);
	EXPECT(syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY), 0);
	EXPECT(word(running(0), 0), 0x1111);
	EXPECT(a->state, THREAD_REPLY);
	EXPECT(write(A, 1, 0x3333), 0);
	EXPECT(a->state, THREAD_REPLY);
	syscall_on(0, SYS_REPLY, 0, 0, NONE, NONE, REPLY);
	EXPECT(running(0), a);
	EXPECT(a->context.registers.rip, 0x3333);
}

static void tls(void)
{
	struct thread *a = make_thread(A, 100, 0);
	EXPECT(call(A, TCB_SET_TLS, NONE, NONE), SKERRY_TRUNCATED);
	EXPECT(call(A, TCB_SET_TLS, W(1ull << 63), NONE), SKERRY_BAD_ARGUMENT);
	EXPECT(call(A, TCB_SET_TLS, W(0x5000), NONE), 0);
	EXPECT(a->context.registers.fs_base, 0x5000);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SET_TLS, W(0x6000), NONE), 0);
	EXPECT(running(0)->context.registers.fs_base, 0x6000);
}

static void tls_of_a_thread_that_runs_elsewhere(void)
{
	make_thread(A, 100, 1);
	EXPECT(call(A, TCB_SET_TLS, W(0x5000), NONE), SKERRY_BUSY);
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(A, TCB_SET_TLS, W(0x5000), NONE), 0);
}

/*
 * The fast path goes to a thread in another address space and leaves the slow path's words for the next switch as
 * they were. That thread then sets its own: it stays in its space.
 */
static void tls_behind_the_fast_path(void)
{
	struct thread *root = running(0);
	uint64_t start[21] = { 1, 0x1000, 0x2000 };
	make(OBJECT_TCB, 0, A, 1);
	make(OBJECT_VSPACE, 0, SPACE, 1);
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	EXPECT(call(A, TCB_CONFIGURE, W(0, 0), W(CNODE, SPACE)), 0);
	EXPECT(call(A, TCB_SCHEDULE, W(255, 0), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(A, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	const struct thread *server = (const struct thread *)slot_of(A)->cap.object;
	const struct cpu *cpu = machine->kernel.cpu[0];
	simple(0, SYS_YIELD, 0);
	syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	EXPECT(running(0), root);
	EXPECT(cpu->own.loaded_vspace, slot_of(VSPACE)->cap.object);
	syscall_on(0, SYS_CALL, EP, 0, W(1), NONE, 0);
	EXPECT(running(0), server);
	EXPECT(machine->core[0].fast, true);
	EXPECT(syscall_on(0, SYS_CALL, A, TCB_SET_TLS, W(0x7000), NONE, 0), 0);
	EXPECT(running(0), server);
	EXPECT(cpu->own.loaded_vspace, slot_of(SPACE)->cap.object);
	EXPECT(machine->core[0].tls, 0x7000);
}

static uint64_t configure(uint64_t cnode, uint64_t vspace) { return call(A, TCB_CONFIGURE, W(0, 0), W(cnode, vspace)); }

static void configured_again(void)
{
	make(OBJECT_TCB, 0, A, 1);
	make(OBJECT_VSPACE, 0, SPACE, 1);
	make(OBJECT_CNODE, 4, NODE, 1);
	EXPECT(call(A, TCB_RESUME, NONE, NONE), SKERRY_BAD_ARGUMENT);
	EXPECT(call(A, TCB_CONFIGURE, W(0), W(CNODE, VSPACE)), SKERRY_TRUNCATED);
	EXPECT(configure(VSPACE, VSPACE), SKERRY_BAD_CAP);
	EXPECT(configure(CNODE, CNODE), SKERRY_BAD_CAP);
	EXPECT(configure(NODE, SPACE), 0);
	const struct thread *a = (const struct thread *)slot_of(A)->cap.object;
	EXPECT(configure(CNODE, VSPACE), 0);
	EXPECT(a->slot[THREAD_CSPACE].cap.object, slot_of(CNODE)->cap.object);
	EXPECT(a->slot[THREAD_VSPACE].cap.object, slot_of(VSPACE)->cap.object);
	EXPECT(configure(CNODE, VSPACE), 0); /* the same */
	EXPECT(call(A, TCB_RESUME, NONE, NONE), 0);
	EXPECT(configure(CNODE, VSPACE), SKERRY_BUSY);
}

/*
 * The old CSpace is the last to hold the new one, the address space and the
 * thread: all of them go, and the call ends as if they had never been there.
 */
static void configured_with_what_goes(void)
{
	make(OBJECT_TCB, 0, A, 1);
	make(OBJECT_CNODE, 4, NODE, 2);
	make(OBJECT_CNODE, 4, EP, 1);
	EXPECT(configure(NODE, VSPACE), 0);
	EXPECT(call(NODE, CNODE_MOVE, W(1, NODE + 1), W(CNODE)), 0);
	EXPECT(call(NODE, CNODE_COPY, W(2, VSPACE, RIGHT_ALL), W(CNODE)), 0);
	EXPECT(call(NODE, CNODE_MOVE, W(3, A), W(CNODE)), 0);
	/* a thread that names them by two levels: its own CNode, then that one, which takes one bit more of guard */
	struct thread *b = make_thread(SPACE, 100, 0);
	EXPECT(call(SPACE, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(EP, CNODE_MINT, W(1, NODE, RIGHT_ALL, 0, 56), W(CNODE)), 0);
	EXPECT(call(CNODE, CNODE_MINT, W(EP + 1, EP, RIGHT_ALL, 0, 0), W(CNODE)), 0);
	EXPECT(call(SPACE, TCB_CONFIGURE, W(1024, 0), W(EP + 1, VSPACE, SPACE + 1)), 0);
	EXPECT(call(SPACE, TCB_RESUME, NONE, NONE), 0);
	delete(NODE);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(10, 0), W(ROOT_SLOT_TCB)), 0);
	EXPECT(running(0), b);
	uint64_t at = 1ull << 60;
	EXPECT(call(at | 3, TCB_CONFIGURE, W(0, 0), W(at | 1, at | 2)), 0); /* b's CNode still holds it */
	EXPECT(call(at | 3, TCB_RESUME, NONE, NONE), 0);
}

/* What the old CSpace was the last to hold has gone when the call ends, not when the core's timer looks after it. */
static void what_it_had_goes_at_once(void)
{
	make(OBJECT_TCB, 0, A, 1);
	make(OBJECT_CNODE, 4, NODE, 1);
	make(OBJECT_NOTIFICATION, 0, EP, 1);
	EXPECT(call(NODE, CNODE_COPY, W(1, EP, RIGHT_ALL), W(CNODE)), 0);
	EXPECT(configure(NODE, VSPACE), 0);
	delete(NODE);
	const struct notification *held = (const struct notification *)slot_of(EP)->cap.object;
	EXPECT(held->references, 2);
	EXPECT(configure(CNODE, VSPACE), 0);
	EXPECT(machine->kernel.doomed, 0);
	EXPECT(held->references, 1);
}

const struct test tests[] = {
	{ "registers of threads that stand still", registers_of_threads_that_stand_still, 1 },
	{ "registers of a thread that faulted", registers_of_a_thread_that_faulted, 1 },
	{ "thread-local storage", tls, 1 },
	{ "thread-local storage of a thread that runs elsewhere", tls_of_a_thread_that_runs_elsewhere, 2 },
	{ "thread-local storage behind the fast path", tls_behind_the_fast_path, 1 },
	{ "configured again", configured_again, 1 },
	{ "configured with what goes", configured_with_what_goes, 1 },
	{ "what a thread had goes at once", what_it_had_goes_at_once, 1 },
	{ 0 },
};
