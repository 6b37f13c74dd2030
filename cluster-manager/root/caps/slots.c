/* SPDX-License-Identifier: BSD-2-Clause */
#include "root.h"
#include "slots.h"

/* The owner of a slot: 0, none; else an owner + 1, with OBJECT where slots_delete() leaves the slot to the untyped's revocation. */
enum { NOBODY = 0, OBJECT = 0x8000 };
_Static_assert((int)OWNERS < (int)OBJECT, "an owner fits beside the bit");

static uint16_t *table;
static uint32_t lowest; /* no free slot is below it */
static uint32_t slot_count, free_count;
static uint32_t owner = OWNER_MANAGER;

uint32_t owner_set(uint32_t next)
{
	uint32_t before = owner;
	owner = next;
	return before;
}

uint32_t owner_now(void) { return owner; }

void slots_init(void)
{
	lowest = ROOT->first_free_slot;
	slot_count = 1u << ROOT->cnode_bits;
	free_count = slot_count - lowest;
}

uint64_t slots_table_size(void) { return slot_count * sizeof(*table); }

void slots_table(void *zeroed)
{
	if (!zeroed)
		manager_panic("no memory for the table of capability slots");
	table = zeroed;
	for (uint32_t i = 0; i < lowest; i++)
		table[i] = OWNER_MANAGER + 1;
}

uint32_t slots_free(void) { return free_count; }

/* The first of `count` free slots in a row; slot_count: there are none. The first that fit, so that free ones stay together. */
static uint32_t find(uint32_t count)
{
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

static int take(uint32_t count, uint32_t flag)
{
	uint32_t first = count && count <= free_count ? find(count) : slot_count;
	if (count == 0)
		return (int)lowest;
	if (first == slot_count)
		return -SKERRY_NO_RESOURCE;
	for (uint32_t i = 0; table && i < count; i++)
		table[first + i] = (uint16_t)((owner + 1) | flag);
	if (first == lowest)
		lowest += count;
	free_count -= count;
	return (int)first;
}

int slots_take(uint32_t count) { return take(count, 0); }
int slots_take_for_objects(uint32_t count) { return take(count, OBJECT); }

void slots_give(int first, uint32_t count)
{
	if (!table)
		return; /* halves that were joined before the table was there: they stay the manager's */
	for (uint32_t i = 0; i < count; i++)
		table[(uint32_t)first + i] = NOBODY;
	if ((uint32_t)first < lowest)
		lowest = (uint32_t)first;
	free_count += count;
}

void slots_delete(uint32_t of)
{
	for (uint32_t i = 0; i < slot_count; i++)
		if (table[i] == of + 1)
			cnode_delete(ROOT_SLOT_CNODE, i);
}

void slots_return(uint32_t of)
{
	for (uint32_t i = 0; i < slot_count; i++)
		if ((table[i] & ~OBJECT) == of + 1)
			slots_give((int)i, 1);
}
