/* SPDX-License-Identifier: BSD-2-Clause */
/* The derivation tree: what revoke and delete reach, and what they leave. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE

static void copy_to(uint64_t to, uint64_t from) { check_ok(cnode_copy(IPC, NODE, to, NODE, from, RIGHT_ALL)); }

TEST(descendants, 1, 0, "derivation: revoke takes all descendants and leaves the capability itself")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = copy_of(a, RIGHT_ALL), c = copy_of(b, RIGHT_ALL),
	         d = copy_of(c, RIGHT_ALL);
	check_ok(cnode_revoke(NODE, a));
	check(!is_empty(a));
	check(is_empty(b) && is_empty(c) && is_empty(d));
}

TEST(siblings, 1, 0, "derivation: revoke leaves siblings and ancestors")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = copy_of(a, RIGHT_ALL), c = copy_of(a, RIGHT_ALL),
	         d = copy_of(c, RIGHT_ALL);
	uint64_t e = copy_of(b, RIGHT_ALL);
	check_ok(cnode_revoke(NODE, c));
	check(!is_empty(a) && !is_empty(b) && !is_empty(c) && !is_empty(e));
	check(is_empty(d));
}

TEST(orphans, 1, 0, "derivation: children of a deleted capability belong to its parent")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = copy_of(a, RIGHT_ALL), c = copy_of(b, RIGHT_ALL),
	         d = copy_of(a, RIGHT_ALL);
	check_ok(cnode_delete(NODE, b));
	check(!is_empty(c));
	check_ok(cnode_revoke(NODE, d));
	check(!is_empty(c));
	check_ok(cnode_revoke(NODE, a));
	check(is_empty(c) && is_empty(d));
}

TEST(moved, 1, 0, "derivation: a moved capability keeps its place")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), b = copy_of(a, RIGHT_ALL), c = copy_of(b, RIGHT_ALL), to = slot();
	check_ok(cnode_move(IPC, NODE, to, NODE, b));
	check_ok(cnode_revoke(NODE, to));
	check(is_empty(c) && !is_empty(a));
	check_ok(cnode_revoke(NODE, a));
	check(is_empty(to));
}

TEST(objects_apart, 1, 0, "derivation: revoke of one object leaves others of the same memory")
{
	uint64_t two = objects(OBJECT_ENDPOINT, 0, 2), a = copy_of(two, RIGHT_ALL), b = copy_of(two + 1, RIGHT_ALL);
	check_ok(cnode_revoke(NODE, two));
	check(is_empty(a) && !is_empty(b) && !is_empty(two + 1));
}

TEST(across_nodes, 1, 0, "derivation: revoke reaches into other CNodes")
{
	uint64_t a = object(OBJECT_ENDPOINT, 0), node = object(OBJECT_CNODE, 3);
	check_ok(cnode_copy(IPC, node, 2, NODE, a, RIGHT_ALL));
	check_ok(cnode_revoke(NODE, a));
	check_error(cnode_move(IPC, NODE, slot(), node, 2), EMPTY_SLOT);
}

TEST(within_node, 1, 0, "derivation: revoke of what a dying CNode holds")
{
	uint64_t memory = object(OBJECT_UNTYPED, 14), node = slot(), endpoint = slot();
	check_ok(untyped_retype(IPC, memory, OBJECT_CNODE, 4, NODE, node, 1));
	check_ok(untyped_retype(IPC, memory, OBJECT_ENDPOINT, 0, NODE, endpoint, 1));
	for (unsigned i = 1; i < 16; i++)
		check_ok(cnode_copy(IPC, node, i, i == 1 ? NODE : node, i == 1 ? endpoint : i - 1, RIGHT_ALL));
	check_ok(cnode_revoke(NODE, memory));
	check(is_empty(node) && is_empty(endpoint));
}

/* A random history beside a model of it: after each step exactly the right slots are full. */
TEST(model, 1, 0, "derivation: a thousand random steps agree with a model")
{
	enum { SLOTS = 40, STEPS = 1000, NONE = -1 };
	int parent[SLOTS];
	bool full[SLOTS] = { true };
	uint64_t base = objects(OBJECT_ENDPOINT, 0, 1), seed = 12345;
	slots(SLOTS - 1);
	parent[0] = NONE;
	for (unsigned step = 0; step < STEPS; step++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		unsigned from = (seed >> 33) % SLOTS, to = (seed >> 43) % SLOTS, what = (seed >> 53) % 8;
		if (!full[from])
			continue;
		if (what < 5 && !full[to]) {
			copy_to(base + to, base + from);
			full[to] = true;
			parent[to] = (int)from;
		} else if (what == 5 && !full[to] && from) {
			check_ok(cnode_move(IPC, NODE, base + to, NODE, base + from));
			full[to] = true, full[from] = false;
			parent[to] = parent[from];
			for (unsigned i = 0; i < SLOTS; i++)
				if (full[i] && parent[i] == (int)from)
					parent[i] = (int)to;
		} else if (what == 6 && from) {
			check_ok(cnode_delete(NODE, base + from));
			full[from] = false;
			for (unsigned i = 0; i < SLOTS; i++)
				if (full[i] && parent[i] == (int)from)
					parent[i] = parent[from];
		} else if (what == 7 && (from || step % 50 == 0)) {
			check_ok(cnode_revoke(NODE, base + from));
			for (bool again = true; again;) {
				again = false;
				for (unsigned i = 1; i < SLOTS; i++) {
					if (full[i] && (parent[i] == (int)from || !full[parent[i]])) {
						full[i] = false;
						again = true;
					}
				}
			}
		}
		for (unsigned i = 0; i < SLOTS; i++)
			check_eq(is_empty(base + i), !full[i]);
	}
}
