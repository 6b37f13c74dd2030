/* SPDX-License-Identifier: BSD-2-Clause */
/* What invocations of TCBs leave in the kernel and in a core. */
#include "harness.h"
#include "message.h"
#include "notification.h"

enum { A = 1000, EP = 1010, NODE = 1020, SPACE = 1030, REPLY = 1040 };

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
	EXPECT(machine->kernel.reap_list, 0);
	EXPECT(held->references, 1);
}

/* As if it had been suspended in a retype: what was left of that is not the new registers'. */
static void new_registers(void)
{
	static const uint64_t registers[21] = { 0, 0x1000, 0x2000 };
	struct thread *thread = make_thread(A, 50, 0);
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	thread->retype_left = 1000 << 16 | 5;
	EXPECT(call(A, TCB_WRITE_REGISTERS, registers, 21, NONE), 0);
	EXPECT(thread->retype_left, 0);
}

/* The count of an object's capabilities ends before it overflows: in a release image nothing else stops it. */
static void capabilities_are_counted_to_an_end(void)
{
	enum { NOTE = 1500, TO = 1501 };
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	check_every(1u << 30);
	uint32_t *references = &((struct notification *)slot_of(NOTE)->cap.object)->references;
	*references = UINT32_MAX - CAP_COPIES_LEFT;
	EXPECT(call(CNODE, CNODE_COPY, W(TO, NOTE, RIGHT_ALL), W(CNODE)), SKERRY_NO_RESOURCE);
	EXPECT(call(CNODE, CNODE_MINT, W(TO, NOTE, RIGHT_ALL, 7), W(CNODE)), SKERRY_NO_RESOURCE);
	EXPECT(*references, UINT32_MAX - CAP_COPIES_LEFT);
	EXPECT(slot_empty(slot_of(TO)), true);
	--*references;
	EXPECT(call(CNODE, CNODE_COPY, W(TO, NOTE, RIGHT_ALL), W(CNODE)), 0);
	*references = 2;
	check_every(1);
}

const struct test tests[] = {
	{ "thread-local storage behind the fast path", tls_behind_the_fast_path, 1 },
	{ "what a thread had goes at once", what_it_had_goes_at_once, 1 },
	{ "new registers end a retype", new_registers, 1 },
	{ "capabilities are counted to an end", capabilities_are_counted_to_an_end, 1 },
	{ 0 },
};
