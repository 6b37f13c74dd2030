/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/process.h>
#include <skerry/require.h>
#include "promise.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

enum { PAGE_BITS = 8 * SIZE_4K, UNIT_BITS = 21 };
#define TABLE_REACH (1ull << 30) /* of one page table that has 2 MiB frames */

int promise_table_make(struct promise_table *t, int vspace, uint64_t heap, const struct promise_table *from)
{
	uint64_t size = process_touched_size(heap);
	uint32_t count = (uint32_t)((size + SIZE_4K - 1) / SIZE_4K);
	int frames = memory_frames_copy(OBJECT_FRAME_4K, count, from ? from->pages : 0);
	if (frames < 0)
		return frames;
	t->pages = slots_copy(frames, count);
	return t->pages < 0 ? t->pages : vspace_map_range(vspace, frames, count, SIZE_4K, PROCESS_TOUCHED_VADDR,
	                                                  RIGHT_READ, CACHE_WRITE_BACK);
}

int promise_note(const struct promise_table *t, uint64_t bit)
{
	require(t->pages > 0);
	uint64_t *page = window_open(t->pages + (int)(bit / PAGE_BITS), 1);
	if (!page)
		return -SKERRY_NO_MEMORY;
	__atomic_fetch_or(&page[bit % PAGE_BITS / 64], 1ull << bit % 64, __ATOMIC_RELEASE);
	window_close();
	return 0;
}

int promise_note_word(const struct promise_table *t, uint64_t word, uint64_t value)
{
	uint64_t *page = window_open(t->pages + (int)(word * 64 / PAGE_BITS), 1);
	if (!page)
		return -SKERRY_NO_MEMORY;
	__atomic_store_n(&page[word % (PAGE_BITS / 64)], value, __ATOMIC_RELEASE);
	window_close();
	return 0;
}

int promise_word(const struct promise_table *t, uint64_t word, uint64_t *value)
{
	const uint64_t *page = window_open(t->pages + (int)(word * 64 / PAGE_BITS), 1);
	if (!page)
		return -SKERRY_NO_MEMORY;
	*value = page[word % (PAGE_BITS / 64)];
	window_close();
	return 0;
}

int promise_make(struct promise *p, uint64_t address, enum skerry_object frame, uint64_t size, uint32_t step,
                 uint64_t first_bit)
{
	uint64_t frame_size = frame == OBJECT_FRAME_2M ? SIZE_2M : SIZE_4K;
	require(size / frame_size % step == 0 && (frame == OBJECT_FRAME_4K || step == 1));
	*p = (struct promise){ .address = address, .frame_size = frame_size, .count = (uint32_t)(size / frame_size),
	                       .step = step, .bit = first_bit };
	if (frame == OBJECT_FRAME_2M) { /* an untyped for each, so that it can be split later */
		p->unit = memory_reserve(&p->reserve, OBJECT_UNTYPED, UNIT_BITS, p->count);
		p->first = p->unit < 0 ? p->unit : slots_take_for_objects(p->count);
	} else {
		p->first = memory_reserve(&p->reserve, frame, 0, p->count);
	}
	return p->first < 0 ? p->first : 0;
}

int promise_commit_copy(struct promise *p, uint32_t group, int from)
{
	require(group < p->count / p->step);
	int frame = p->first + (int)(group * p->step);
	int error = p->unit ? memory_commit(&p->reserve, p->unit + (int)group, p->step, 0)
	            : memory_commit(&p->reserve, frame, p->step, from);
	if (!error && p->unit)
		error = memory_retype(p->unit + (int)group, OBJECT_FRAME_2M, frame, 1, from);
	if (!error)
		p->kept += p->step * p->frame_size;
	return error;
}

int promise_commit(struct promise *p, uint32_t group) { return promise_commit_copy(p, group, 0); }

int promise_map(const struct promise *p, int vspace, const struct promise_table *t, uint32_t group, unsigned rights)
{
	require(group < p->count / p->step);
	uint32_t frame = group * p->step;
	int error = vspace_map_range(vspace, p->first + (int)frame, p->step, p->frame_size,
	                             p->address + frame * p->frame_size,
				     rights, CACHE_WRITE_BACK);
	return error ? error : promise_note(t, p->bit + group);
}

int promise_tables(struct promise *p, int vspace, const struct promise_table *t)
{
	require(p->count && !p->kept);
	uint64_t size = (uint64_t)p->count * p->frame_size;
	int error = promise_commit(p, 0);
	for (uint64_t at = size > TABLE_REACH ? (size - 1) & -TABLE_REACH : 0; !error && at; at -= TABLE_REACH) {
		error = vspace_map(vspace, p->first, p->address + at, RIGHT_READ, CACHE_WRITE_BACK);
		if (!error)
			error = frame_unmap((uint64_t)p->first);
	}
	return error ? error : promise_map(p, vspace, t, 0, RIGHT_READ | RIGHT_WRITE);
}

int promise_keep(struct promise *p, int vspace, const struct promise_table *t, uint64_t address, unsigned rights)
{
	require(promise_has(p, address));
	uint32_t group = (uint32_t)((address - p->address) / (p->step * p->frame_size));
	int error = promise_commit(p, group);
	if (error == -SKERRY_SLOT_FULL)
		return 0; /* another thread touched it, too */
	return error ? error : promise_map(p, vspace, t, group, rights);
}
