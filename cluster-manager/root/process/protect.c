/* SPDX-License-Identifier: BSD-2-Clause */
#include "protect.h"
#include "root.h"
#include "signs.h"
#include "split.h"

/* Limits of one request: frames that it changes (a split step counts as SPLIT_WORK of them), and steps it visits. */
enum { FRAMES_SHARE = STEP_PAGES, SPLIT_WORK = STEP_PAGES / 2, STEPS_SHARE = 64 };
/* A fault that is so near to the stack pointer is a stack's overflow. */
enum { STACK_NEAR = 64 * SIZE_4K };

/* Frames are made later: BAD_CAP says that this one is not there yet. */
static int page_protect(const struct process *p, int frame, uint64_t page, unsigned from, unsigned to)
{
	int error = 0;
	if (from == to)
		return 0;
	if (!(to & RIGHT_READ))
		error = frame_unmap((uint64_t)frame);
	else if (!(from & RIGHT_READ))
		error = frame_map(IPC, (uint64_t)frame, (uint64_t)p->vspace, page * SIZE_4K, to, CACHE_WRITE_BACK);
	else
		error = frame_protect_in(IPC, (uint64_t)frame, (uint64_t)p->vspace, to);
	return error == -SKERRY_BAD_CAP ? 0 : error;
}

/* Frames of single pages, the first of which is in slot `frame`. */
static int change_pages(const struct process *p, int frame, uint64_t page, uint64_t end, unsigned rights)
{
	uint64_t unused;
	int error = 0;
	for (; page < end && !error; page++, frame++)
		error = page_protect(p, frame, page, page_rights_of(&p->shield->rights, page, end, &unused), rights);
	return error;
}

/* Pages of one step of the heap. *work: grows by the frames that were changed. */
static int protect_step(struct process *p, uint32_t step, uint64_t page, uint64_t end, const struct page_rights *next,
                        unsigned rights,
			uint32_t *work)
{
	const uint64_t first = p->heap.address / SIZE_4K + (uint64_t)step * STEP_PAGES;
	uint64_t unused;
	struct split *s = split_find(p->shield, step);
	int error = 0;
	if (!s && page_rights_even(next, first, STEP_PAGES)) {
		*work += 1;
		return page_protect(p, p->heap.first + (int)step, first,
		                    page_rights_of(&p->shield->rights, first, end, &unused), rights);
	}
	if (!s && !(s = split_make(p, step, &error)))
		return error;
	for (; page < end && !error; page = unused) {
		const unsigned part = (unsigned)((page - first) / PART_PAGES);
		const uint64_t part_end = first + (part + 1) * PART_PAGES;
		unused = part_end < end ? part_end : end;
		if (!(s->made >> part & 1))
			continue;
		error = change_pages(p, s->first + (int)(page - first), page, unused, rights);
		*work += (uint32_t)(unused - page);
	}
	return error;
}

/* Pages up to the end of a step, or of the stack. */
static int protect_some(struct process *p, bool heap, uint64_t page, uint64_t end, unsigned rights, uint32_t *work)
{
	static struct page_rights next;
	struct page_rights *now = &p->shield->rights;
	page_rights_copy(&next, now);
	if (!page_rights_set(&next, page, end - page, rights))
		return -SKERRY_NO_RESOURCE;
	int error;
	if (heap)
		error = protect_step(p, (uint32_t)((page - p->heap.address / SIZE_4K) / STEP_PAGES), page, end, &next,
		                     rights, work);
	else
		error = change_pages(p, p->stack.first + (int)(page - p->stack.address / SIZE_4K), page, end, rights);
	if (!error)
		page_rights_copy(now, &next);
	return error;
}

static bool has_range(const struct promise *p, uint64_t address, uint64_t size)
{
	const uint64_t whole = (uint64_t)p->count * p->frame_size, offset = address - p->address;
	return offset < whole && size <= whole - offset;
}

int64_t protect(struct process *p, uint64_t address, uint64_t size, unsigned rights)
{
	const bool heap = has_range(&p->heap, address, size);
	uint64_t page = address / SIZE_4K;
	const uint64_t end = page + size / SIZE_4K, base = p->heap.address / SIZE_4K;
	uint32_t work = 0;
	if ((address | size) % SIZE_4K || !size || (!heap && !has_range(&p->stack, address, size)))
		return -SKERRY_BAD_ARGUMENT;
	if (rights != 0 && rights != RIGHT_READ && rights != (RIGHT_READ | RIGHT_WRITE) &&
	    rights != (RIGHT_READ | RIGHT_EXECUTE))
		return -SKERRY_NO_RIGHTS;
	for (uint32_t steps = 0; page < end && steps < STEPS_SHARE && work < FRAMES_SHARE; steps++) {
		const uint64_t step_end = heap ? base + ((page - base) / STEP_PAGES + 1) * STEP_PAGES : end;
		const uint64_t some = step_end < end ? step_end : end;
		const uint32_t splits = p->shield->split_count;
		int error = protect_some(p, heap, page, some, rights, &work);
		if (error)
			return page > address / SIZE_4K ? (int64_t)(page * SIZE_4K - address) : error;
		work += splits == p->shield->split_count ? 0 : SPLIT_WORK;
		page = some;
		sign_pass();
	}
	return (int64_t)(page * SIZE_4K - address);
}

bool protect_touch(struct process *p, uint64_t address, unsigned needed, int *error)
{
	const uint64_t page = address / SIZE_4K;
	uint64_t end;
	const unsigned rights = page_rights_of(&p->shield->rights, page, page + 1, &end);
	*error = 0;
	if (needed & ~rights)
		return false;
	if (promise_has(&p->stack, address)) {
		const uint32_t group = (uint32_t)((address - p->stack.address) / PROCESS_STACK_STEP);
		const int first = p->stack.first + (int)group * PART_PAGES;
		*error = promise_commit(&p->stack, group);
		if (*error == -SKERRY_SLOT_FULL)
			*error = 0;
		else if (!*error && !(*error = split_map(p, first, page / PART_PAGES * PART_PAGES, PART_PAGES)))
			*error = promise_note(&p->touched, p->stack.bit + group);
		return true;
	}
	const uint32_t step = (uint32_t)((address - p->heap.address) / PROCESS_HEAP_STEP);
	struct split *s = split_find(p->shield, step);
	*error = s ? split_keep(p, s, (unsigned)(address % PROCESS_HEAP_STEP / PROCESS_STACK_STEP)) :
		     promise_keep(&p->heap, p->vspace, &p->touched, address, rights);
	return true;
}

enum report_place protect_place(const struct process *p, uint64_t address, uint64_t stack_pointer)
{
	const uint64_t page = address / SIZE_4K;
	const bool near = stack_pointer - address + STACK_NEAR < 2 * STACK_NEAR;
	uint64_t end;
	if (p->stack.address - 1 - address < SIZE_4K)
		return PLACE_GUARD;
	if (!p->shield || (!promise_has(&p->heap, address) && !promise_has(&p->stack, address)))
		return PLACE_OTHER;
	const unsigned rights = page_rights_of(&p->shield->rights, page, page + 1, &end);
	return !rights && near ? PLACE_GUARD : rights == PAGE_RIGHTS_DEFAULT ? PLACE_OTHER : PLACE_PROTECTED;
}
