/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"

enum { OWN_MEMORY_BITS = 20 };

static uint64_t own_memory, pool; /* what lasts; what each test starts anew */
static uint64_t first_slot, next_slot;

/* The smallest that holds both, so that the large ones keep their room for large frames. */
uint64_t source_untyped(void)
{
	const struct root_untyped *best = 0;
	for (unsigned i = 0; i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind == ROOT_UNTYPED_ORDINARY && u->size_bits > TEST_MEMORY_BITS &&
		    (!best || u->size_bits < best->size_bits))
			best = u;
	}
	check(best);
	return ROOT_SLOT_UNTYPED + (uint64_t)(best - ROOT->untyped);
}

static void add_table(uint64_t address)
{
	uint64_t table = slot();
	check_ok(untyped_retype(IPC, own_memory, OBJECT_PAGE_TABLE, 0, ROOT_SLOT_CNODE, table, 1));
	check_ok(page_table_map(IPC, table, ROOT_SLOT_VSPACE, address));
}

void memory_init(void)
{
	next_slot = ROOT->first_free_slot;
	own_memory = slot();
	pool = slot();
	check_ok(untyped_retype(IPC, source_untyped(), OBJECT_UNTYPED, TEST_MEMORY_BITS, ROOT_SLOT_CNODE, pool, 1));
	check_ok(untyped_retype(IPC, source_untyped(), OBJECT_UNTYPED, OWN_MEMORY_BITS, ROOT_SLOT_CNODE, own_memory,
	                        1));
	add_table(WINDOW); /* below the table that leads to the program's image, too */
	add_table(WINDOW);
	add_table(LARGE_WINDOW);
}

/* Deletes the objects of a test. Those that existed at the first call stay. */
void memory_reset(void)
{
	if (!first_slot)
		first_slot = next_slot;
	cnode_revoke(ROOT_SLOT_CNODE, pool);
	for (uint64_t s = first_slot; s < next_slot; s++)
		cnode_delete(ROOT_SLOT_CNODE, s);
	next_slot = first_slot;
}

uint64_t test_memory(void) { return first_slot ? pool : own_memory; }

uint64_t slots(unsigned count)
{
	next_slot += count;
	return next_slot - count;
}

uint64_t objects(enum skerry_object type, unsigned size_bits, unsigned count)
{
	uint64_t first = slots(count);
	check_ok(untyped_retype(IPC, test_memory(), type, size_bits, ROOT_SLOT_CNODE, first, count));
	return first;
}

uint64_t badged(uint64_t cap, uint64_t badge, unsigned rights)
{
	uint64_t copy = slot();
	check_ok(cnode_mint(IPC, ROOT_SLOT_CNODE, copy, ROOT_SLOT_CNODE, cap, rights, badge));
	return copy;
}

uint64_t copy_of(uint64_t cap, unsigned rights)
{
	uint64_t copy = slot();
	check_ok(cnode_copy(IPC, ROOT_SLOT_CNODE, copy, ROOT_SLOT_CNODE, cap, rights));
	return copy;
}

/* A move that cannot succeed tells a full slot from an empty one. */
bool is_empty(uint64_t cap)
{
	int error = cnode_move(IPC, ROOT_SLOT_CNODE, ROOT_SLOT_TCB, ROOT_SLOT_CNODE, cap);
	return error == -SKERRY_EMPTY_SLOT;
}

uint64_t map_page(unsigned page, unsigned rights)
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW + page * 4096ull, rights, CACHE_WRITE_BACK));
	return frame;
}
