/* SPDX-License-Identifier: BSD-2-Clause */
/* What the lookup of a capability pointer returns where a system call would only say BAD_CAP. */
#include "cnode.h"
#include "harness.h"

enum { NODE = 1000 };

/* Slot 0 has the CNode's count of capabilities to it: no pointer leads there, at one level and at two. */
static void slot_0_is_none(void)
{
	struct thread *thread = running(0);
	make(OBJECT_CNODE, 4, NODE, 2);
	EXPECT(call(NODE, CNODE_MINT, W(1, NODE + 1, RIGHT_ALL, 0, 56), W(CNODE)), 0);
	EXPECT(call(CNODE, CNODE_MINT, W(NODE + 2, NODE, RIGHT_ALL, 0, 0), W(CNODE)), 0);
	EXPECT(cspace_lookup(thread, 0), 0);
	const struct cap root = thread->slot[THREAD_CSPACE].cap;
	thread->slot[THREAD_CSPACE].cap = slot_of(NODE + 2)->cap;
	const struct slot *first = cspace_lookup(thread, 1ull << 60), *second = cspace_lookup(thread, 1ull << 60 | 1);
	thread->slot[THREAD_CSPACE].cap = root;
	EXPECT(first, 0);
	EXPECT(second != 0 && slot_empty(second), true);
}

TESTS(lookup) = {
	{ "slot 0 is none", slot_0_is_none, 1 },
	{ 0 },
};
