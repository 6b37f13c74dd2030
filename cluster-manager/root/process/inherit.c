/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "inherit.h"
#include "memory.h"
#include "root.h"
#include "signs.h"
#include "slots.h"
#include "split.h"
#include "vspace.h"

#define TABLE_REACH (1ull << 30) /* of one page table that has 2 MiB frames */
enum { STACK_GROUPS = PROCESS_STACK_SIZE / PROCESS_STACK_STEP };

/* `kept`: its read-only frames are there as long as any process of the family is. */
static int copy_segment(struct elf_mapping *to, const struct elf_mapping *from, bool kept)
{
	if (!(from->rights & RIGHT_WRITE) && kept) {
		to->first = slots_copy(from->first, from->count);
		return to->first < 0 ? to->first : 0;
	}
	to->first = memory_frames_copy(OBJECT_FRAME_4K, from->count, from->first);
	return to->first < 0 ? to->first : 0;
}

/* The table that has those of image and heap; the image's other tables, and its frames, are `owner`'s. */
static int make_tables(struct process *p, const struct process *parent, uint32_t owner)
{
	const int top = memory_object(OBJECT_PAGE_TABLE, 0);
	int error = top < 0 ? top : page_table_map(IPC, (uint64_t)top, (uint64_t)p->vspace, 0);
	uint64_t made = 0;
	owner_set(owner);
	for (unsigned i = 0; i < ELF_MAX_SEGMENTS && parent->image[i].count && !error; i++)
		error = elf_tables(p->vspace, parent->image[i].address,
		                   parent->image[i].address + (uint64_t)parent->image[i].count * SIZE_4K, &made);
	return error;
}

static int map_segments(struct process *p, const struct process *parent)
{
	p->executed = parent->executed;
	for (unsigned i = 0; i < ELF_MAX_SEGMENTS && parent->image[i].count; i++) {
		struct elf_mapping *to = &p->image[i];
		*to = parent->image[i];
		int error = copy_segment(to, &parent->image[i], to->shared || !parent->executed);
		if (!error)
			error = vspace_map_range(p->vspace, to->first, to->count, SIZE_4K, to->address, to->rights,
			                         CACHE_WRITE_BACK);
		if (error)
			return error;
	}
	return 0;
}

int inherit_image(struct process *p, const struct process *parent, uint32_t image_owner)
{
	const uint32_t before = owner_now();
	int error = make_tables(p, parent, image_owner);
	if (!error)
		error = map_segments(p, parent);
	owner_set(before);
	return error;
}

int inherit_touched(struct process *p, const struct process *parent, uint64_t heap)
{
	return promise_table_make(&p->touched, p->vspace, heap, &parent->touched);
}

/* Maps a group of the stack's pages, each with its rights in the parent. */
static int map_group(const struct process *p, const struct process *parent, int first, uint64_t page)
{
	const uint64_t behind = page + PART_PAGES;
	uint64_t end;
	int error = 0;
	for (; page < behind && !error; first += (int)(end - page), page = end) {
		const unsigned rights = parent->shield ? page_rights_of(&parent->shield->rights, page, behind, &end)
		                        : (end = behind, PAGE_RIGHTS_DEFAULT);
		if (rights & RIGHT_READ)
			error = vspace_map_range(p->vspace, first, (uint32_t)(end - page), SIZE_4K, page * SIZE_4K,
			                         rights, CACHE_WRITE_BACK);
	}
	return error;
}

int inherit_stack(struct process *p, const struct process *parent)
{
	uint64_t touched;
	int error = promise_word(&parent->touched, PROCESS_TOUCHED_STACK / 64, &touched);
	if (!error)
		error = promise_make(&p->stack, parent->stack.address, OBJECT_FRAME_4K, PROCESS_STACK_SIZE,
		                     parent->stack.step, PROCESS_TOUCHED_STACK);
	require(error || parent->stack.step == PART_PAGES);
	for (unsigned group = 0; group < STACK_GROUPS && !error; group++) {
		const int first = p->stack.first + (int)group * PART_PAGES;
		if (!(touched >> group & 1))
			continue;
		error = promise_commit_copy(&p->stack, group, parent->stack.first + (int)group * PART_PAGES);
		if (!error)
			error = map_group(p, parent, first, p->stack.address / SIZE_4K + group * PART_PAGES);
	}
	return error;
}

int inherit_heap(struct process *p, uint64_t heap)
{
	int error = promise_make(&p->heap, PROCESS_HEAP_VADDR, OBJECT_FRAME_2M, heap, PROCESS_HEAP_STEP / SIZE_2M,
	                         PROCESS_TOUCHED_HEAP);
	_Static_assert(PROCESS_HEAP_VADDR % TABLE_REACH == 0, "the first step begins a table's reach");
	for (uint64_t at = 0; at < heap && !error; at += TABLE_REACH) {
		int table = memory_object(OBJECT_PAGE_TABLE, 0);
		error = table < 0 ? table : page_table_map(IPC, (uint64_t)table, (uint64_t)p->vspace,
		                                           PROCESS_HEAP_VADDR + at);
	}
	return error ? error : split_reserve(p, p->heap.count);
}

int inherit_rights(struct process *p, const struct process *parent, struct shield *page)
{
	if (!parent->shield)
		return 0;
	if (!page)
		return -SKERRY_NO_MEMORY;
	p->shield = page;
	page_rights_copy(&page->rights, &parent->shield->rights);
	page->split_count = 0;
	for (uint32_t i = 0; i < parent->shield->split_count; i++) {
		int error = split_inherit(p, &parent->shield->split[i]);
		if (error)
			return error;
	}
	return 0;
}

int inherit_step(struct process *p, const struct process *parent, uint32_t step, unsigned rights)
{
	const int frame = p->heap.first + (int)step;
	int error = promise_commit_copy(&p->heap, step, parent->heap.first + (int)step);
	return error || !(rights & RIGHT_READ) ? error
	       : vspace_map(p->vspace, frame, p->heap.address + (uint64_t)step * PROCESS_HEAP_STEP, rights,
	                    CACHE_WRITE_BACK);
}
