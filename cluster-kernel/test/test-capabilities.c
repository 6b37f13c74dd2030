/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint.h"
#include "harness.h"

static void copies_and_mints(void)
{
	make(OBJECT_ENDPOINT, 0, 1000, 1);
	copy(1001, 1000, RIGHT_READ, 0);
	copy(1002, 1000, RIGHT_ALL, 77);
	EXPECT(slot_of(1001)->cap.rights, RIGHT_READ);
	EXPECT(slot_of(1002)->cap.badge, 77);
	/* a badge is for ever */
	EXPECT(call(CNODE, CNODE_MINT, W(1003, 1002, RIGHT_ALL, 78), W(CNODE)), SKERRY_BAD_ARGUMENT);
	/* rights do not come back */
	copy(1003, 1001, RIGHT_ALL, 0);
	EXPECT(slot_of(1003)->cap.rights, RIGHT_READ);
	EXPECT(call(CNODE, CNODE_COPY, W(1003, 1000, RIGHT_ALL), W(CNODE)), SKERRY_SLOT_FULL);
	EXPECT(call(CNODE, CNODE_COPY, W(1004, 1999, RIGHT_ALL), W(CNODE)), SKERRY_EMPTY_SLOT);
	EXPECT(call(CNODE, CNODE_COPY, W(0, 1000, RIGHT_ALL), W(CNODE)), SKERRY_BAD_ARGUMENT);
	EXPECT(call(CNODE, CNODE_COPY, W(1 << ROOT_CNODE_BITS, 1000, RIGHT_ALL), W(CNODE)), SKERRY_BAD_ARGUMENT);
	EXPECT(call(CNODE, CNODE_COPY, W(1004, 1000), W(CNODE)), SKERRY_TRUNCATED);
	EXPECT(call(CNODE, CNODE_COPY, W(1004, 1000, RIGHT_ALL), W(1000)), SKERRY_BAD_CAP);
	EXPECT(call(CNODE, 99, W(1004), NONE), SKERRY_BAD_LABEL);
	EXPECT(((struct endpoint *)slot_of(1000)->cap.object)->references, 4);
}

static void what_has_one_owner_is_not_copied(void)
{
	make(OBJECT_PAGE_TABLE, 0, 1000, 1);
	EXPECT(call(CNODE, CNODE_COPY, W(1001, 1000, RIGHT_ALL), W(CNODE)), SKERRY_BAD_ARGUMENT);
	EXPECT(call(CNODE, CNODE_COPY, W(1001, U, RIGHT_ALL), W(CNODE)), SKERRY_BAD_ARGUMENT);
	EXPECT(call(CNODE, CNODE_MOVE, W(1001, 1000), W(CNODE)), 0);
	EXPECT(slot_of(1000)->cap.type, 0);
	EXPECT(slot_of(1001)->cap.type, OBJECT_PAGE_TABLE);
}

static void revoke_takes_descendants_only(void)
{
	make(OBJECT_ENDPOINT, 0, 1000, 2);
	copy(1010, 1000, RIGHT_ALL, 0);
	copy(1011, 1010, RIGHT_ALL, 5);
	copy(1012, 1011, RIGHT_READ, 0);
	copy(1013, 1000, RIGHT_ALL, 0);
	revoke(1010);
	EXPECT(slot_of(1010)->cap.type, OBJECT_ENDPOINT);
	EXPECT(slot_of(1011)->cap.type, 0);
	EXPECT(slot_of(1012)->cap.type, 0);
	EXPECT(slot_of(1013)->cap.type, OBJECT_ENDPOINT);
	EXPECT(slot_of(1001)->cap.type, OBJECT_ENDPOINT);
}

static void children_of_the_deleted_are_the_grandparents(void)
{
	make(OBJECT_ENDPOINT, 0, 1000, 1);
	copy(1010, 1000, RIGHT_ALL, 0);
	copy(1011, 1010, RIGHT_ALL, 0);
	delete(1010);
	EXPECT(slot_of(1000)->open.next == &slot_of(1011)->open, true);
	revoke(1000);
	EXPECT(slot_of(1011)->cap.type, 0);
}

static void a_cnode_takes_its_content_with_it(void)
{
	make(OBJECT_CNODE, 4, 1000, 1);
	make(OBJECT_ENDPOINT, 0, 1001, 1);
	EXPECT(call(1000, CNODE_COPY, W(3, 1001, RIGHT_ALL), W(CNODE)), 0);
	EXPECT(call(1000, CNODE_COPY, W(4, 1000, RIGHT_ALL), W(CNODE)), 0); /* itself, too */
	EXPECT(call(1000, CNODE_COPY, W(16, 1001, RIGHT_ALL), W(CNODE)), SKERRY_BAD_ARGUMENT);
	revoke(1000);
	delete(1000);
	EXPECT(((struct endpoint *)slot_of(1001)->cap.object)->references, 1);
}

/* Each CNode holds the only capability to the next: deleting the first must not need a stack as deep. */
static void long_chains_of_cnodes_go(void)
{
	enum { LENGTH = 3000, HOLDER = 1000, AT = 2000 };
	make(OBJECT_CNODE, 1, HOLDER, 1);
	make(OBJECT_ENDPOINT, 0, HOLDER + 1, 1);
	for (unsigned i = 0; i < LENGTH; i++) {
		make(OBJECT_CNODE, 1, AT, 1);
		EXPECT(call(AT, CNODE_MOVE, W(1, i ? HOLDER : HOLDER + 1), W(CNODE)), 0);
		if (!i)
			delete(HOLDER);
		EXPECT(call(CNODE, CNODE_MOVE, W(HOLDER, AT), W(CNODE)), 0);
	}
	delete(HOLDER);
	EXPECT(slot_of(HOLDER)->cap.type, 0);
}

const struct test tests[] = {
	{ "copies and mints", copies_and_mints, 1 },
	{ "what has one owner is not copied", what_has_one_owner_is_not_copied, 1 },
	{ "revoke takes descendants only", revoke_takes_descendants_only, 1 },
	{ "children of the deleted are the grandparent's", children_of_the_deleted_are_the_grandparents, 1 },
	{ "a CNode takes its content with it", a_cnode_takes_its_content_with_it, 1 },
	{ "long chains of CNodes go", long_chains_of_cnodes_go, 1 },
	{ 0 },
};
