/* SPDX-License-Identifier: BSD-2-Clause */
/* Deletions that take many budgets, and what happens between these. */
#include "endpoint.h"
#include "harness.h"
#include "work.h"

enum { MEMORY = 1040, NODE = 1041, MANY = 3000, WIDE_BITS = 14 };

static bool whole(uint64_t untyped, unsigned bits)
{
	uint64_t error = call(untyped, UNTYPED_RETYPE, W(OBJECT_UNTYPED, bits, MANY - 1, 1), W(CNODE));
	EXPECT(error == 0 || error == SKERRY_NO_MEMORY, true);
	if (error == 0)
		delete(MANY - 1);
	return error == 0;
}

/* `count` endpoints, a multiple of RETYPE_COUNT_MAX, made of `MEMORY`. */
static void fill(unsigned count)
{
	make(OBJECT_UNTYPED, 20, MEMORY, 1);
	for (unsigned done = 0; done < count; done += RETYPE_COUNT_MAX)
		EXPECT(call(MEMORY, UNTYPED_RETYPE, W(OBJECT_ENDPOINT, 0, MANY + done, RETYPE_COUNT_MAX), W(CNODE)), 0);
}

static unsigned left(unsigned count)
{
	unsigned n = 0;
	for (unsigned i = 0; i < count; i++)
		n += !slot_empty(slot_of(MANY + i));
	return n;
}

static void ten_thousand_descendants(void)
{
	enum { COUNT = 10240 };
	fill(COUNT);
	stopped_begin();
	for (unsigned before = COUNT, i = 0; i < 3; i++) {
		if (i == 0)
			stopped_call(10, CNODE, CNODE_REVOKE, W(MEMORY), NONE);
		unsigned now = left(COUNT);
		EXPECT(now > 0 && now < before, true);
		EXPECT(whole(MEMORY, 20), false);
		before = now;
		stopped_wait(machine->time + 100);
		EXPECT(running(0), stopped_high);
	}
	stopped_finish(0);
	EXPECT(left(COUNT), 0);
	EXPECT(whole(MEMORY, 20), true);
}

static void long_lines_of_descent(void)
{
	enum { DEPTH = 600 };
	make(OBJECT_ENDPOINT, 0, MANY, 1);
	for (unsigned i = 1; i < DEPTH; i++)
		copy(MANY + i, MANY + i - 1, RIGHT_ALL, 0);
	for (unsigned i = 2; i < DEPTH; i += 2)
		delete(MANY + i); /* from the middle */
	EXPECT(left(DEPTH), DEPTH / 2 + 1);
	stopped_begin();
	stopped_call(0, CNODE, CNODE_REVOKE, W(MANY), NONE);
	unsigned now = left(DEPTH);
	EXPECT(now > 1 && now < DEPTH / 2 + 1, true);
	delete(MANY + DEPTH - 1);
	delete(MANY); /* what the worker revokes */
	stopped_finish(0);
	EXPECT(left(DEPTH) > 0, true); /* nothing derived from it is left, but it is gone itself */
}

/* A CNode so large that looking through it takes many budgets, in memory of its own. */
static void wide(uint64_t memory, uint64_t node)
{
	make(OBJECT_UNTYPED, WIDE_BITS + SLOT_BITS, memory, 1);
	EXPECT(call(memory, UNTYPED_RETYPE, W(OBJECT_CNODE, WIDE_BITS, node, 1), W(CNODE)), 0);
	make(OBJECT_ENDPOINT, 0, MANY, 1);
	EXPECT(call(node, CNODE_COPY, W(1, MANY, RIGHT_ALL), W(CNODE)), 0);
	EXPECT(call(node, CNODE_COPY, W(1000, MANY, RIGHT_ALL), W(CNODE)), 0);
	EXPECT(call(node, CNODE_MOVE, W((1 << WIDE_BITS) - 1, MANY), W(CNODE)), 0);
}

static bool wide_whole(uint64_t memory) { return whole(memory, WIDE_BITS + SLOT_BITS); }

static void a_doomed_cnode_keeps_its_memory(void)
{
	wide(MEMORY, NODE);
	stopped_begin();
	stopped_call(3, CNODE, CNODE_DELETE, W(NODE), NONE);
	EXPECT(slot_of(NODE)->cap.type, 0);
	EXPECT(machine->kernel.reap_list != 0, true);
	EXPECT(call(NODE, CNODE_DELETE, W(1), NONE), SKERRY_BAD_CAP);
	EXPECT(wide_whole(MEMORY), false);
	stopped_finish(0);
	EXPECT(machine->kernel.reap_list == 0, true);
	EXPECT(wide_whole(MEMORY), true);
}

static void who_deletes_next_helps(void)
{
	wide(MEMORY, NODE);
	make(OBJECT_ENDPOINT, 0, MANY, 1);
	stopped_begin();
	stopped_call(3, CNODE, CNODE_DELETE, W(NODE), NONE);
	delete(MANY);
	EXPECT(machine->kernel.reap_list == 0, true);
	EXPECT(wide_whole(MEMORY), true);
	stopped_finish(0);
}

static void a_revoke_meets_a_zombie(void)
{
	wide(MEMORY, NODE);
	stopped_begin();
	stopped_call(3, CNODE, CNODE_DELETE, W(NODE), NONE);
	revoke(MEMORY);
	EXPECT(wide_whole(MEMORY), true);
	stopped_finish(0);
}

/* The untyped it was made of goes, too: the zombie is a root then, or somebody else's child. */
static void a_zombie_loses_its_parent(void)
{
	wide(MEMORY, NODE);
	stopped_begin();
	stopped_call(3, CNODE, CNODE_REVOKE, W(MEMORY), NONE);
	EXPECT(machine->kernel.reap_list != 0, true);
	delete(MEMORY);
	EXPECT(machine->kernel.reap_list == 0, true);
	stopped_finish(0);
}

/* The last capability to each CNode is in the one before; the first is wide. */
static void nests(void)
{
	enum { DEPTH = 200 };
	make(OBJECT_UNTYPED, 20, MEMORY, 1);
	EXPECT(call(MEMORY, UNTYPED_RETYPE, W(OBJECT_CNODE, 5, MANY, DEPTH), W(CNODE)), 0);
	for (unsigned i = DEPTH - 1; i; i--)
		EXPECT(call(MANY + i - 1, CNODE_MOVE, W(31, MANY + i), W(CNODE)), 0);
	stopped_begin();
	stopped_call(4, CNODE, CNODE_DELETE, W(MANY), NONE);
	EXPECT(machine->kernel.reap_list != 0, true);
	EXPECT(whole(MEMORY, 20), false);
	stopped_finish(0);
	EXPECT(whole(MEMORY, 20), true);
}

/* What nobody deletes any more goes by the clock. */
static void bury(void)
{
	machine->kernel.work_budget = WORK_BUDGET;
	for (unsigned i = 0; i < 100 && machine->kernel.reap_list; i++) {
		hosted_advance(machine, machine->kernel.tsc_hz / 1000);
		settle();
	}
	EXPECT(machine->kernel.reap_list == 0, true);
}

/* The capability that is revoked lies in a CNode that was made of it. */
static void an_untyped_inside_itself(void)
{
	make(OBJECT_UNTYPED, 16, MEMORY, 1);
	EXPECT(call(MEMORY, UNTYPED_RETYPE, W(OBJECT_CNODE, 4, NODE, 1), W(CNODE)), 0);
	EXPECT(call(NODE, CNODE_MOVE, W(2, MEMORY), W(CNODE)), 0);
	/* where it has to be made again, it cannot */
	EXPECT(call(NODE, CNODE_REVOKE, W(2), NONE), machine->kernel.work_budget == 1 ? SKERRY_BAD_CAP : SKERRY_OK);
	EXPECT(slot_of(NODE)->cap.type, 0);
	bury();
}

static void the_deleter_is_deleted(void)
{
	wide(MEMORY, NODE);
	stopped_begin();
	stopped_call(3, CNODE, CNODE_DELETE, W(NODE), NONE);
	delete(STOPPED_WORKER);
	EXPECT(machine->kernel.reap_list == 0, true);
	EXPECT(wide_whole(MEMORY), true);
}

static void the_deleter_is_suspended(void)
{
	wide(MEMORY, NODE);
	stopped_begin();
	stopped_call(3, CNODE, CNODE_DELETE, W(NODE), NONE);
	EXPECT(call(STOPPED_WORKER, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(machine->kernel.reap_list != 0, true);
	bury();
	EXPECT(wide_whole(MEMORY), true);
	EXPECT(call(STOPPED_WORKER, TCB_RESUME, NONE, NONE), 0);
	stopped_finish(0);
}

static void the_deleter_deletes_itself(void)
{
	wide(MEMORY, NODE);
	make(OBJECT_TCB, 0, MANY, 1);
	stopped_begin();
	EXPECT(call(NODE, CNODE_MOVE, W(7, STOPPED_WORKER), W(CNODE)), 0); /* its TCB, the only capability */
	stopped_wait(0);
	EXPECT(running(0), stopped_worker);
	struct hosted_call order = { .number = SYS_CALL, .cptr = CNODE, .info = message_info(CNODE_DELETE, 0, 1),
	                             .word = { NODE } };
	hosted_post_call(machine, 0, &order);
	settle();
	EXPECT(running(0) != 0 && running(0) != stopped_worker, true);
	EXPECT(machine->kernel.reap_list != 0, true);
	bury();
	EXPECT(wide_whole(MEMORY), true);
}

/* Two cores, a call on each at once. */
static void both(uint64_t label0, uint64_t slot0, uint64_t label1, uint64_t slot1)
{
	uint64_t labels[2] = { label0, label1 }, slots[2] = { slot0, slot1 };
	for (unsigned core = 0; core < 2; core++) {
		struct hosted_call order = { .number = SYS_CALL, .cptr = CNODE,
		                             .info = message_info(labels[core], 0, 1),
			                     .word = { slots[core] } };
		hosted_post_call(machine, core, &order);
	}
	settle();
	EXPECT(machine->kernel.reap_list == 0, true);
}

static void two_revoke_the_same(void)
{
	fill(512);
	struct thread *other = make_thread(STOPPED_WORKER, 100, 1);
	both(CNODE_REVOKE, MEMORY, CNODE_REVOKE, MEMORY);
	EXPECT(result(running(0)), 0);
	EXPECT(result(other), 0);
	EXPECT(left(512), 0);
}

static void two_delete_what_is_in_each_other(void)
{
	struct thread *other = make_thread(STOPPED_WORKER, 100, 1);
	wide(MEMORY, NODE);
	wide(MEMORY + 10, NODE + 10);
	EXPECT(call(NODE, CNODE_COPY, W(5, NODE + 10, RIGHT_ALL), W(CNODE)), 0);
	EXPECT(call(NODE + 10, CNODE_MOVE, W(5, STOPPED_WORKER + 1), W(CNODE)), 0);
	both(CNODE_DELETE, NODE, CNODE_DELETE, NODE + 10);
	EXPECT(result(running(0)), 0);
	EXPECT(result(other), 0);
	EXPECT(wide_whole(MEMORY), true);
	EXPECT(wide_whole(MEMORY + 10), true);
}

static void one_revokes_the_other_deletes_parts(void)
{
	wide(MEMORY, NODE);
	struct thread *other = make_thread(STOPPED_WORKER, 100, 1);
	both(CNODE_REVOKE, MEMORY, CNODE_DELETE, NODE);
	EXPECT(result(running(0)), 0);
	EXPECT(result(other), 0);
	EXPECT(wide_whole(MEMORY), true);
}

static void a_deleter_dies_by_another_core(void)
{
	wide(MEMORY, NODE);
	make_thread(STOPPED_WORKER, 100, 1);
	both(CNODE_DELETE, STOPPED_WORKER, CNODE_DELETE, NODE);
	EXPECT(running(1), 0);
	delete(NODE); /* if it was killed before it began */
	EXPECT(wide_whole(MEMORY), true);
}

TESTS(deletion) = {
	{ "ten thousand descendants", ten_thousand_descendants, 1 },
	{ "long lines of descent", long_lines_of_descent, 1 },
	{ "a doomed CNode keeps its memory", a_doomed_cnode_keeps_its_memory, 1 },
	{ "who deletes next helps", who_deletes_next_helps, 1 },
	{ "a revoke meets a zombie", a_revoke_meets_a_zombie, 1 },
	{ "a zombie loses its parent", a_zombie_loses_its_parent, 1 },
	{ "nests of CNodes", nests, 1 },
	{ "an untyped inside itself", an_untyped_inside_itself, 1 },
	{ "the deleter is deleted", the_deleter_is_deleted, 1 },
	{ "the deleter is suspended", the_deleter_is_suspended, 1 },
	{ "the deleter deletes itself", the_deleter_deletes_itself, 1 },
	{ "two revoke the same", two_revoke_the_same, 2 },
	{ "two delete what is in each other", two_delete_what_is_in_each_other, 2 },
	{ "one revokes, the other deletes parts", one_revokes_the_other_deletes_parts, 2 },
	{ "a deleter dies by another core", a_deleter_dies_by_another_core, 2 },
	{ 0 },
};
