/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "root.h"
#include "signs.h"
#include "slots.h"
#include "split.h"
#include "vspace.h"

/* A program that splits steps leaves so much of the slots, a share of all, for programs that start. */
enum { SLOTS_SHARE = 4, PARTS = STEP_PAGES / PART_PAGES, WORDS = SIZE_2M / 8 };

int split_reserve(struct process *p, uint32_t steps)
{
	p->table_count = steps < PROCESS_SPLITS ? steps : PROCESS_SPLITS;
	p->table = memory_reserve(&p->tables, OBJECT_PAGE_TABLE, 0, p->table_count);
	return p->table < 0 ? p->table : 0;
}

struct split *split_find(struct shield *shield, uint32_t step)
{
	for (uint32_t i = 0; i < shield->split_count; i++)
		if (shield->split[i].step == step)
			return &shield->split[i];
	return NULL;
}

static uint64_t page_of(const struct process *p, uint32_t step)
{
	return p->heap.address / SIZE_4K + (uint64_t)step * STEP_PAGES;
}

int split_map(const struct process *p, int first, uint64_t page, uint32_t count)
{
	uint64_t end;
	const uint64_t behind = page + count;
	int error = 0;
	for (; page < behind && !error; first += (int)(end - page), page = end) {
		unsigned rights = page_rights_of(&p->shield->rights, page, behind, &end);
		if (rights & RIGHT_READ)
			error = vspace_map_range(p->vspace, first, (uint32_t)(end - page), SIZE_4K, page * SIZE_4K,
			                         rights, CACHE_WRITE_BACK);
	}
	return error;
}

/* Takes slots for the frames of a step, unless too few were left. */
static int take_slots(void)
{
	return slots_free() < (1u << ROOT->cnode_bits) / SLOTS_SHARE + STEP_PAGES ? -SKERRY_NO_RESOURCE
	       : slots_take_for_objects(STEP_PAGES);
}

/* Makes the frames of a part, without mapping them; with the content of those in slots from `from` on, if not 0. */
static int part_make(struct process *p, struct split *s, unsigned part, int from)
{
	int error = memory_retype(p->heap.unit + (int)s->step, OBJECT_FRAME_4K, s->first + (int)part * PART_PAGES,
	                          PART_PAGES, from);
	if (error)
		return error;
	require(!(s->made >> part & 1));
	s->made |= 1ull << part;
	p->heap.kept += PROCESS_STACK_STEP;
	return 0;
}

static int map_part(struct process *p, const struct split *s, unsigned part)
{
	const uint64_t number = (uint64_t)(s - p->shield->split);
	int error = split_map(p, s->first + (int)part * PART_PAGES, page_of(p, s->step) + part * PART_PAGES,
	                      PART_PAGES);
	if (!error)
		error = promise_note(&p->touched, PROCESS_TOUCHED_SPLITS + 128 * number + 64 + part);
	return error ? error : promise_note(&p->touched, PROCESS_TOUCHED_HEAP + s->step);
}

int split_keep(struct process *p, struct split *s, unsigned part)
{
	require(part < PARTS);
	if (s->made >> part & 1)
		return 0; /* another thread touched it, too */
	int error = part_make(p, s, part, 0);
	return error ? error : map_part(p, s, part);
}

/* Copies what the step's frame of 2 MiB has, and makes that frame untyped memory again. Returns the copy, or null and
 * an error. */
static const uint64_t *take_content(struct process *p, uint32_t step, int *error)
{
	const int frame = p->heap.first + (int)step;
	uint64_t end;
	uint32_t before = owner_set(OWNER_SCRATCH);
	int scratch = memory_frames(OBJECT_FRAME_2M, 1);
	owner_set(before);
	uint64_t *copy = scratch < 0 ? NULL : window_large(scratch, 0);
	if (!copy) {
		memory_return(OWNER_SCRATCH);
		*error = scratch < 0 ? scratch : -SKERRY_NO_MEMORY;
		return NULL;
	}
	/* not written from now on: a thread that touches it waits for us */
	if (page_rights_of(&p->shield->rights, page_of(p, step), page_of(p, step) + 1, &end) & RIGHT_READ)
		frame_unmap((uint64_t)frame);
	const uint64_t *content = window_large(frame, 1);
	if (content)
		memcpy(copy, content, SIZE_2M);
	*error = content ? cnode_revoke(ROOT_SLOT_CNODE, (uint64_t)(p->heap.unit + (int)step)) : -SKERRY_NO_MEMORY;
	require(p->heap.kept >= SIZE_2M);
	p->heap.kept -= SIZE_2M;
	sign_pass();
	return copy;
}

/* The parts in which anything but zeroes is. */
static int give_content(struct process *p, struct split *s, const uint64_t *content)
{
	enum { PART_WORDS = WORDS / PARTS };
	int error = 0;
	for (unsigned part = 0; part < PARTS && !error; part++, content += PART_WORDS) {
		uint64_t any = 0;
		for (unsigned i = 0; i < PART_WORDS; i++)
			any |= content[i];
		if (!any)
			continue;
		error = part_make(p, s, part, 0);
		void *window = error ? NULL : window_open(s->first + (int)part * PART_PAGES, PART_PAGES);
		if (!window)
			return error ? error : -SKERRY_NO_MEMORY;
		memcpy(window, content, PROCESS_STACK_STEP);
		window_close();
		error = map_part(p, s, part);
		sign_pass();
	}
	return error;
}

/* Its untyped memory, from the reserve or with what was there. */
static int take_unit(struct process *p, uint32_t step, const uint64_t **content)
{
	int error = memory_commit(&p->heap.reserve, p->heap.unit + (int)step, 1, 0);
	*content = NULL;
	if (error != -SKERRY_SLOT_FULL)
		return error;
	*content = take_content(p, step, &error);
	return error;
}

static int split_build(struct process *p, struct split *s, const uint64_t *content)
{
	const uint32_t number = p->shield->split_count;
	require(number < p->table_count && number < PROCESS_SPLITS);
	const uint64_t word = (PROCESS_TOUCHED_SPLITS + 128 * (uint64_t)number) / 64;
	int error = memory_commit(&p->tables, p->table + (int)number, 1, 0);
	if (!error)
		error = page_table_map(IPC, (uint64_t)p->table + number, (uint64_t)p->vspace,
		                       page_of(p, s->step) * SIZE_4K);
	if (!error && content)
		error = give_content(p, s, content);
	p->shield->split_count++;
	return error ? error : promise_note_word(&p->touched, word, s->step + 1); /* last: its parts are known */
}

struct split *split_make(struct process *p, uint32_t step, int *error)
{
	struct shield *shield = p->shield;
	const uint64_t *content;
	require(page_rights_even(&shield->rights, page_of(p, step), STEP_PAGES) && !split_find(shield, step));
	*error = -SKERRY_NO_RESOURCE;
	int first = shield->split_count == p->table_count ? *error : take_slots();
	if (first < 0)
		return NULL;
	struct split *s = &shield->split[shield->split_count];
	*s = (struct split){ .step = step, .first = first };
	*error = take_unit(p, step, &content);
	if (!*error)
		*error = split_build(p, s, content);
	else if (!content)
		slots_give(first, STEP_PAGES);
	if (content)
		memory_return(OWNER_SCRATCH);
	return *error ? NULL : s;
}

int split_inherit(struct process *p, const struct split *from)
{
	const uint32_t number = p->shield->split_count;
	struct split *s = &p->shield->split[number];
	require(number < p->table_count && !split_find(p->shield, from->step));
	int first = take_slots();
	if (first < 0)
		return first;
	*s = (struct split){ .step = from->step, .first = first };
	int error = memory_commit(&p->heap.reserve, p->heap.unit + (int)s->step, 1, 0);
	if (!error)
		error = memory_commit(&p->tables, p->table + (int)number, 1, 0);
	if (!error)
		error = page_table_map(IPC, (uint64_t)p->table + number, (uint64_t)p->vspace,
		                       page_of(p, s->step) * SIZE_4K);
	p->shield->split_count++;
	for (unsigned part = 0; part < PARTS && !error; part++) {
		const int to = first + (int)part * PART_PAGES;
		if (!(from->made >> part & 1))
			continue;
		error = part_make(p, s, part, from->first + (int)part * PART_PAGES);
		if (!error)
			error = split_map(p, to, page_of(p, s->step) + part * PART_PAGES, PART_PAGES);
	}
	return error;
}
