/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/page_rights.h>
#include <skerry/require.h>
#include "frames-copy.h"
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
	return s->at[place].source[step] || s->at[place].lent_to[step];
}

static void note_returned(struct shares *s, unsigned borrower, uint32_t step)
{
	struct sharer *b = &s->at[borrower], *owner = &s->at[b->source[step] - 1];
	require(owner->process && owner->lent && owner->lent_to[step]);
	owner->lent--;
	owner->lent_to[step]--;
	b->source[step] = 0;
}

int share_lend(struct shares *s, unsigned parent, unsigned child, uint32_t step)
{
	struct sharer *c = &s->at[child];
	require(parent < PROCESS_MEMBERS && child < PROCESS_MEMBERS && parent != child && step < s->steps);
	require(c->process && !c->source[step]);
	const unsigned place = s->at[parent].source[step] ? s->at[parent].source[step] - 1u : parent;
	struct sharer *owner = &s->at[place];
	const int frame = owner->process->heap.first + (int)step, copy = c->borrowed + (int)step;
	int error = 0;
	if (!owner->lent_to[step]) /* else nobody may write it any more */
		error = frame_protect_in(IPC, (uint64_t)frame, (uint64_t)owner->process->vspace, RIGHT_READ);
	if (!error)
		error = cnode_copy(IPC, ROOT_SLOT_CNODE, (uint64_t)copy, ROOT_SLOT_CNODE, (uint64_t)frame, RIGHT_READ);
	if (!error)
		error = vspace_map(c->process->vspace, copy, address_of(c, step), RIGHT_READ, CACHE_WRITE_BACK);
	if (error)
		return error;
	c->source[step] = (uint8_t)(place + 1);
	owner->lent_to[step]++;
	owner->lent++;
	return 0;
}

/* Gives a borrower a frame of its own with the content of the one that it borrows. */
static int copy_step(struct shares *s, unsigned borrower, uint32_t step)
{
	const struct sharer *b = &s->at[borrower], *owner = &s->at[b->source[step] - 1];
	const int frame = b->process->heap.first + (int)step;
	int error = promise_commit(&b->process->heap, step);
	if (!error)
		error = frame_copy_large(frame, owner->process->heap.first + (int)step);
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

int share_write(struct shares *s, unsigned place, uint32_t step)
{
	struct sharer *own = &s->at[place];
	require(place < PROCESS_MEMBERS && step < s->steps && own->process);
	if (own->source[step])
		return copy_step(s, place, step);
	int error = copy_lent(s, place, step);
	return error ? error : frame_protect_in(IPC, (uint64_t)own->process->heap.first + step,
	                                        (uint64_t)own->process->vspace, PAGE_RIGHTS_DEFAULT);
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
