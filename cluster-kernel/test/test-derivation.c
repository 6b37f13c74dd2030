/* SPDX-License-Identifier: BSD-2-Clause */
/* How a capability pointer is looked up. */
#include "cnode.h"
#include "endpoint.h"
#include "harness.h"
#include "message.h"

enum { NODE = 1000, EP = 1010 };

static uint64_t guard(uint64_t label, uint64_t to, uint64_t from, uint64_t value, uint64_t bits)
{
	return call(CNODE, label, W(to, from, RIGHT_ALL, value, bits), W(CNODE));
}

/* Four levels: 16 slots, guard 5 (3 bits) and 16 slots, 16 slots, guard 0 and the rest. */
static void lookups_go_through_levels(void)
{
	static const unsigned value[] = { 0, 5, 0, 0 }, bits[] = { 0, 3, 0, 64 - 19 };
	struct slot root = { 0 };
	struct thread *thread = running(0);
	make(OBJECT_CNODE, 4, NODE, 4);
	make(OBJECT_ENDPOINT, 0, EP, 1);
	EXPECT(call(NODE + 3, CNODE_COPY, W(7, EP, RIGHT_ALL), W(CNODE)), 0);
	EXPECT(call(NODE + 3, CNODE_COPY, W(6, NODE, RIGHT_ALL), W(CNODE)), 0);
	for (unsigned i = 3; i; i--)
		EXPECT(call(NODE + i - 1, CNODE_MINT, W(i, NODE + i, RIGHT_ALL, value[i], bits[i]), W(CNODE)), 0);
	EXPECT(guard(CNODE_MINT, NODE + 5, NODE, 0, 0), 0);
	/* what a thread with this root would find */
	root.cap = thread->slot[THREAD_CSPACE].cap;
	thread->slot[THREAD_CSPACE].cap = slot_of(NODE + 5)->cap;
	uint64_t cptr = 1ull << 60 | 5ull << 57 | 2ull << 53 | 3ull << 49;
	const struct slot *leaf = cspace_lookup(thread, cptr | 7);
	const struct slot *self = cspace_lookup(thread, cptr | 6);
	EXPECT(cspace_lookup(thread, cptr | 5) != 0 && slot_empty(cspace_lookup(thread, cptr | 5)), true);
	EXPECT(cspace_lookup(thread, cptr), 0);                          /* slot 0 */
	EXPECT(cspace_lookup(thread, (cptr ^ 1ull << 57) | 7), 0);       /* a guard that is not so */
	EXPECT(cspace_lookup(thread, (cptr ^ 1ull << 20) | 7), 0);
	EXPECT(cspace_lookup(thread, (cptr ^ 1ull << 53) | 7), 0);       /* no CNode there */
	EXPECT(cspace_lookup(thread, 0), 0);
	thread->slot[THREAD_CSPACE].cap = root.cap;
	EXPECT(cspace_lookup(thread, 0), 0); /* nor of one level */
	EXPECT(leaf->cap.object, slot_of(EP)->cap.object);
	EXPECT(self->cap.object, slot_of(NODE)->cap.object);
}

/* Two bits are left where a CNode of 16 slots is found: it is not looked into, whatever would be in it. */
static void a_lookup_ends_with_its_bits(void)
{
	struct slot root = { 0 };
	struct thread *thread = running(0);
	make(OBJECT_CNODE, 4, NODE, 2);
	EXPECT(guard(CNODE_MINT, NODE + 2, NODE, (1ull << 58) - 1, 58), 0);
	EXPECT(guard(CNODE_MUTATE, NODE + 3, NODE + 1, 0, 0), 0);
	for (unsigned i = 1; i < 16; i++) {
		EXPECT(call(NODE, CNODE_COPY, W(i, NODE + 3, RIGHT_ALL), W(CNODE)), 0);
		EXPECT(call(NODE + 3, CNODE_COPY, W(i, NODE + 3, RIGHT_ALL), W(CNODE)), 0);
	}
	root.cap = thread->slot[THREAD_CSPACE].cap;
	thread->slot[THREAD_CSPACE].cap = slot_of(NODE + 2)->cap;
	const struct slot *found = cspace_lookup(thread, ~0ull);
	thread->slot[THREAD_CSPACE].cap = root.cap;
	EXPECT(found, 0);
}

/* What has bits to be looked up, as untyped memory seems to, is not therefore a CNode. */
static void only_cnodes_are_looked_into(void)
{
	enum { THREAD = 1060, BITS = 20 };
	uint64_t cptr = 1ull << 60 | 5ull << (60 - BITS);
	make(OBJECT_CNODE, 4, NODE, 1);
	make(OBJECT_UNTYPED, BITS, NODE + 1, 1);
	EXPECT(guard(CNODE_MINT, NODE + 2, NODE, 0, 0), 0);
	EXPECT(call(NODE, CNODE_MOVE, W(1, NODE + 1), W(CNODE)), 0);
	struct thread *thread = make_thread(THREAD, 100, 0);
	EXPECT(call(THREAD, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(THREAD, TCB_CONFIGURE, W(1024, 0), W(NODE + 2, VSPACE, THREAD + 1)), 0);
	EXPECT(call(THREAD, TCB_RESUME, NONE, NONE), 0);
	root_priority(10);
	EXPECT(running(0), thread);
	EXPECT(simple(0, SYS_SIGNAL, cptr), SKERRY_BAD_CAP);
	EXPECT(simple(0, SYS_SIGNAL, cptr | 1), SKERRY_BAD_CAP);
	EXPECT(call(cptr, CNODE_DELETE, W(1), NONE), SKERRY_BAD_CAP);
}

const struct test tests[] = {
	{ "lookups go through levels", lookups_go_through_levels, 1 },
	{ "a lookup ends with its bits", a_lookup_ends_with_its_bits, 1 },
	{ "only CNodes are looked into", only_cnodes_are_looked_into, 1 },
	{ 0 },
};
