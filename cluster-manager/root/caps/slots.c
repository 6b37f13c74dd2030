/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "root.h"
#include "slots.h"

/* The owner of a slot: 0, none; else an owner + 1, with OBJECT where slots_return() leaves the slot to the untyped's
 * revocation. */
enum { NOBODY = 0, OBJECT = 0x8000 };
_Static_assert((int)OWNERS < (int)OBJECT, "an owner fits beside the bit");

enum { NO_SLOT = 0 }; /* the CNode's own capability is in a slot before all that are free */

static uint16_t *table;
/* of each slot that has an owner other than the manager: the owner's next one, or NO_SLOT */
static uint32_t *following;
static struct {
	uint32_t first, last, before; /* before: the last one before the latest request */
} list[OWNERS]; /* slots of each owner, in the order in which they were taken; not the manager's */
static uint32_t lowest; /* no free slot is below it */
static uint32_t slot_count, free_count;
static uint32_t owner = OWNER_MANAGER;
static uint64_t steps;

uint32_t owner_set(uint32_t next)
{
	require(next < OWNERS);
	uint32_t before = owner;
	owner = next;
	return before;
}

uint32_t owner_now(void) { return owner; }

void slots_init(void)
{
	lowest = ROOT->first_free_slot;
	slot_count = 1u << ROOT->cnode_bits;
	require(lowest > NO_SLOT && lowest < slot_count);
	free_count = slot_count - lowest;
}

uint64_t slots_table_size(void) { return slot_count * (sizeof(*following) + sizeof(*table)); }

void slots_table(void *zeroed)
{
	if (!zeroed)
		manager_panic("no memory for the table of capability slots");
	require(lowest > NO_SLOT && owner == OWNER_MANAGER);
	following = zeroed;
	table = (uint16_t *)(following + slot_count);
	for (uint32_t i = 0; i < lowest; i++)
		table[i] = OWNER_MANAGER + 1;
}

uint32_t slots_free(void) { return free_count; }

/* The first of `count` free slots in a row; slot_count: there are none. The first that fit, so that free ones stay
 * together. */
static uint32_t slots_find(uint32_t count)
{
	require(count && lowest <= slot_count);
	if (!table)
		return count <= slot_count - lowest ? lowest : slot_count;
	while (lowest < slot_count && table[lowest] != NOBODY)
		lowest++;
	uint32_t run = 0;
	for (uint32_t i = lowest; i < slot_count; i++) {
		run = table[i] == NOBODY ? run + 1 : 0;
		if (run == count)
			return i + 1 - count;
	}
	return slot_count;
}

static void link_slot(uint32_t slot, uint32_t flag)
{
	require(slot < slot_count && table[slot] == NOBODY);
	table[slot] = (uint16_t)((owner + 1) | flag);
	if (owner == OWNER_MANAGER)
		return;
	following[slot] = NO_SLOT;
	if (list[owner].first != NO_SLOT)
		following[list[owner].last] = slot;
	else
		list[owner].first = slot;
	list[owner].last = slot;
}

static int slots_mark(uint32_t count, uint32_t flag)
{
	uint32_t first = count && count <= free_count ? slots_find(count) : slot_count;
	if (count == 0)
		return (int)lowest;
	if (first == slot_count)
		return -SKERRY_NO_RESOURCE;
	list[owner].before = list[owner].last;
	for (uint32_t i = 0; table && i < count; i++)
		link_slot(first + i, flag);
	require(first + count <= slot_count && count <= free_count);
	if (first == lowest)
		lowest += count;
	free_count -= count;
	return (int)first;
}

int slots_take(uint32_t count) { return slots_mark(count, 0); }
int slots_take_for_objects(uint32_t count) { return slots_mark(count, OBJECT); }

static uint32_t owner_of(uint32_t slot)
{
	require(table[slot] != NOBODY);
	return (table[slot] & ~(uint32_t)OBJECT) - 1;
}

static void set_free(uint32_t slot)
{
	table[slot] = NOBODY;
	if (slot < lowest)
		lowest = slot;
	free_count++;
	require(free_count < slot_count);
}

void slots_give(int first, uint32_t count)
{
	if (!table)
		return; /* halves that were joined before the table was there: they stay the manager's */
	require(first > NO_SLOT && count && (uint32_t)first + count <= slot_count);
	uint32_t of = owner_of((uint32_t)first), before = list[of].before;
	if (of != OWNER_MANAGER) {
		uint32_t *link = before == NO_SLOT ? &list[of].first : &following[before];
		require(*link == (uint32_t)first && list[of].last == (uint32_t)first + count - 1);
		*link = NO_SLOT;
		list[of].last = before;
	}
	for (uint32_t i = (uint32_t)first; i < (uint32_t)first + count; i++) {
		steps++;
		require(owner_of(i) == of);
		set_free(i);
	}
}

void slots_return(uint32_t of)
{
	require(of != OWNER_MANAGER && of < OWNERS && of != owner);
	uint32_t next;
	for (uint32_t i = list[of].first; i != NO_SLOT; i = next) {
		steps++;
		require(owner_of(i) == of);
		next = following[i];
		if (!(table[i] & OBJECT))
			cnode_delete(ROOT_SLOT_CNODE, i);
		set_free(i);
	}
	list[of].first = list[of].last = NO_SLOT;
}

uint64_t slots_steps(void) { return steps; }
