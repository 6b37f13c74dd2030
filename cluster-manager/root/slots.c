/* SPDX-License-Identifier: BSD-2-Clause */
#include "root.h"
#include "slots.h"

enum { SLOT_COUNT = 1 << ROOT_CNODE_BITS, RETURNED_MAX = 1024 };

static uint32_t next_slot;
static uint16_t returned[RETURNED_MAX];
static uint32_t returned_count;

void slots_init(void)
{
	next_slot = ROOT->first_free_slot;
}

int slots_take(uint32_t count)
{
	if (count == 1 && returned_count)
		return returned[--returned_count];
	if (count > SLOT_COUNT - next_slot)
		return -SKERRY_NO_RESOURCE;
	int first = (int)next_slot;
	next_slot += count;
	return first;
}

/* More than RETURNED_MAX empty slots at a time are forgotten: a lost slot costs nothing but itself. */
void slot_put(int slot)
{
	if (returned_count < RETURNED_MAX)
		returned[returned_count++] = (uint16_t)slot;
}
