/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/page_rights.h>
#include <skerry/require.h>
#include "root.h"
#include "share.h"
#include "vspace.h"

static uint64_t address_of(const struct sharer *s, uint32_t step)
{
	return s->process->heap.address + (uint64_t)step * PROCESS_HEAP_STEP;
}

bool share_has(const struct shares *s, unsigned place, uint32_t step)
{
	require(place < PROCESS_MEMBERS && step < s->steps);
	return s->at[place].source[step] || s->at[place].lent_to[step] || s->at[place].closed[step];
}

static void note_returned(struct shares *s, unsigned borrower, uint32_t step)
{
	struct sharer *b = &s->at[borrower], *owner = &s->at[b->source[step] - 1];
	require(owner->process && owner->lent && owner->lent_to[step]);
	owner->lent--;
	owner->lent_to[step]--;
	b->source[step] = 0;
}

static unsigned owner_of_step(const struct shares *s, unsigned place, uint32_t step)
{
	return s->at[place].source[step] ? s->at[place].source[step] - 1u : place;
}

/* Returns how many of `count` steps have the first one's owner, which may write all of them or none. */
static uint32_t alike(const struct shares *s, unsigned parent, uint32_t step, uint32_t count)
{
	const unsigned place = owner_of_step(s, parent, step);
	uint32_t n = 1;
	while (n < count && owner_of_step(s, parent, step + n) == place &&
	       s->at[place].closed[step + n] == s->at[place].closed[step])
		n++;
	return n;
}

static int lend_alike(struct shares *s, unsigned place, unsigned child, uint32_t step, uint32_t count)
{
	struct sharer *c = &s->at[child], *owner = &s->at[place];
	const int frame = owner->process->heap.first + (int)step, copy = c->borrowed + (int)step;
	int error = 0;
	if (!owner->closed[step])
		error = frame_protect_range(IPC, (uint64_t)frame, (uint64_t)owner->process->vspace, RIGHT_READ, count);
	if (!error)
		error = cnode_copy_range(IPC, ROOT_SLOT_CNODE, (uint64_t)copy, (uint64_t)frame, count, RIGHT_READ);
	if (!error)
		error = vspace_map_range(c->process->vspace, copy, count, PROCESS_HEAP_STEP, address_of(c, step),
		                         RIGHT_READ, CACHE_WRITE_BACK);
	if (error)
		return error;
	for (uint32_t i = step; i < step + count; i++) {
		require(!c->source[i]);
		c->source[i] = (uint8_t)(place + 1);
		owner->lent_to[i]++;
		owner->closed[i] = 1;
	}
	owner->lent += count;
	return 0;
}

int share_lend(struct shares *s, unsigned parent, unsigned child, uint32_t step, uint32_t count)
{
	require(parent < PROCESS_MEMBERS && child < PROCESS_MEMBERS && parent != child && s->at[child].process);
	require(step < s->steps && count <= s->steps - step && count <= RANGE_COUNT_MAX);
	int error = 0;
	for (uint32_t some; count && !error; step += some, count -= some) {
		some = alike(s, parent, step, count);
		error = lend_alike(s, owner_of_step(s, parent, step), child, step, some);
	}
	return error;
}

/* Gives a borrower a frame of its own with the content of the one that it borrows. */
static int copy_step(struct shares *s, unsigned borrower, uint32_t step)
{
	const struct sharer *b = &s->at[borrower], *owner = &s->at[b->source[step] - 1];
	const int frame = b->process->heap.first + (int)step;
	int error = promise_commit_copy(&b->process->heap, step, owner->process->heap.first + (int)step);
	if (!error)
		error = cnode_delete(ROOT_SLOT_CNODE, (uint64_t)b->borrowed + step);
	if (!error)
		error = vspace_map(b->process->vspace, frame, address_of(b, step), PAGE_RIGHTS_DEFAULT,
		                   CACHE_WRITE_BACK);
	if (!error)
		note_returned(s, borrower, step);
	return error;
}

/* Gives all borrowers of a step copies. */
static int copy_lent(struct shares *s, unsigned place, uint32_t step)
{
	const struct sharer *own = &s->at[place];
	int error = 0;
	for (unsigned i = 0; i < PROCESS_MEMBERS && own->lent_to[step] && !error; i++)
		if (s->at[i].process && s->at[i].source[step] == place + 1)
			error = copy_step(s, i, step);
	require(error || !own->lent_to[step]);
	return error;
}

/* Gives the owner its rights again: to this step, and to those behind it that nobody borrows any more either. */
static int open_steps(struct sharer *own, uint32_t step, uint32_t steps)
{
	enum { TOGETHER = 64 };
	uint32_t count = 1;
	while (step + count < steps && count < TOGETHER && own->closed[step + count] && !own->lent_to[step + count])
		count++;
	int error = frame_protect_range(IPC, (uint64_t)own->process->heap.first + step, (uint64_t)own->process->vspace,
	                                PAGE_RIGHTS_DEFAULT, count);
	for (uint32_t i = step; i < step + count && !error; i++)
		own->closed[i] = 0;
	return error;
}

int share_write(struct shares *s, unsigned place, uint32_t step)
{
	struct sharer *own = &s->at[place];
	require(place < PROCESS_MEMBERS && step < s->steps && own->process);
	if (own->source[step])
		return copy_step(s, place, step);
	int error = copy_lent(s, place, step);
	return error ? error : open_steps(own, step, s->steps);
}

int share_settle(struct shares *s, unsigned place)
{
	const struct sharer *own = &s->at[place];
	int error = 0;
	require(place < PROCESS_MEMBERS);
	for (uint32_t step = 0; step < s->steps && own->lent && !error; step++)
		error = copy_lent(s, place, step);
	require(error || !own->lent);
	return error;
}

void share_end(struct shares *s, unsigned place)
{
	struct sharer *own = &s->at[place];
	require(place < PROCESS_MEMBERS && own->process);
	for (uint32_t step = 0; step < s->steps; step++)
		if (own->source[step])
			note_returned(s, place, step);
}

int share_leave(struct shares *s, unsigned place)
{
	struct sharer *own = &s->at[place];
	require(place < PROCESS_MEMBERS && own->process);
	int error = share_settle(s, place);
	for (uint32_t step = 0; step < s->steps && !error; step++) {
		if (!own->source[step])
			continue;
		error = cnode_delete(ROOT_SLOT_CNODE, (uint64_t)own->borrowed + step);
		if (!error)
			note_returned(s, place, step);
	}
	return error;
}
