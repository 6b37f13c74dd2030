/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include <string.h>

enum { ROOTS = 16, LINKS_MAX = 4 * CENSUS_MAX };

/* Slots without a parent that have children or will, and the root task's TCB. No operation deletes or moves one. */
static struct slot *root[ROOTS];
static unsigned roots;

void census_begin(void)
{
	for (unsigned i = 1; i < TINY_U; i++) {
		struct slot *slot = &tiny->root_cnode[i];
		if (slot_empty(slot) || slot->open.previous)
			continue;
		const bool is_sure = slot->cap.type == OBJECT_TCB || slot->cap.type == OBJECT_IRQ_CONTROL;
		if (!slot_has_children(slot) && !is_sure)
			continue;
		require(roots < ROOTS);
		root[roots++] = slot;
	}
	if (tiny_place) /* it comes and goes, and derives from nothing */
		root[roots++] = &tiny->root_cnode[TINY_M];
}

static unsigned place_of(const struct census *census, const struct slot *slot)
{
	unsigned place = ((uint64_t)slot >> SLOT_BITS) * 0x9e3779b1u & (CENSUS_TABLE - 1);
	while (census->table[place] && census->entry[census->table[place] - 1].slot != slot)
		place = (place + 1) & (CENSUS_TABLE - 1);
	return place;
}

int census_find(const struct census *census, const struct slot *slot)
{
	return (int)census->table[place_of(census, slot)] - 1;
}

static void add_thread(struct census *census, struct thread *thread)
{
	if (census_thread(census, thread))
		return;
	if (census->threads == CENSUS_THREADS)
		fail("more than %u threads", CENSUS_THREADS);
	census->thread[census->threads++] = (struct census_thread){ .thread = thread, .state = thread->state,
		.notification = thread->notification, .bound = thread->bound, .reply = thread->reply };
}

static int add(struct census *census, struct slot *slot, int parent)
{
	const unsigned place = place_of(census, slot);
	if (census->table[place])
		fail("the derivation tree has slot %p twice", (void *)slot);
	if (census->count == CENSUS_MAX)
		fail("more than %u capabilities", CENSUS_MAX);
	census->entry[census->count] = (struct census_entry){ .slot = slot, .cap = slot->cap, .parent = parent };
	census->table[place] = (uint16_t)++census->count;
	if (slot->cap.type == OBJECT_TCB)
		add_thread(census, (struct thread *)slot->cap.object);
	return (int)census->count - 1;
}

static void take_tree(struct census *census, struct slot *slot)
{
	int above = -1;
	unsigned links = 0;
	for (const struct link *link = &slot->open; link; link = link->next) {
		if (++links > LINKS_MAX)
			fail("the derivation tree has no end");
		if (link_opens(link))
			above = add(census, link_slot(link), above);
		else if (above < 0 || census->entry[above].slot != link_slot(link))
			fail("the derivation tree has brackets that do not match, at slot %p",
			     (void *)link_slot(link));
		else
			above = census->entry[above].parent;
	}
}

void census_take(struct census *census)
{
	census->count = census->threads = 0;
	memset(census->table, 0, sizeof(census->table));
	for (unsigned i = 0; i < roots; i++)
		if (!slot_empty(root[i]))
			take_tree(census, root[i]);
}

bool census_derives(const struct census *census, int index, int ancestor)
{
	do
		index = census->entry[index].parent;
	while (index >= 0 && index != ancestor);
	return index >= 0;
}

const struct census_thread *census_thread(const struct census *census, const struct thread *thread)
{
	for (unsigned i = 0; i < census->threads; i++)
		if (census->thread[i].thread == thread)
			return &census->thread[i];
	return 0;
}
