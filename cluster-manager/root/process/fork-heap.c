/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/page_rights.h>
#include "fork-heap.h"
#include "inherit.h"
#include "root.h"
#include "signs.h"
#include "slots.h"
#include "split.h"

/* The rights of a step that is not split. */
static unsigned rights_of_step(const struct process *parent, uint32_t step)
{
	const uint64_t page = (parent->heap.address + (uint64_t)step * PROCESS_HEAP_STEP) / SIZE_4K;
	uint64_t end;
	return parent->shield ? page_rights_of(&parent->shield->rights, page, page + 1, &end) : PAGE_RIGHTS_DEFAULT;
}

int fork_heap(struct shares *s, const struct process *parent, unsigned from, unsigned to)
{
	enum { TOGETHER = 64 };
	struct sharer *c = &s->at[to];
	uint64_t touched = 0;
	uint32_t shared = 0; /* steps before this one that are to be shared */
	c->borrowed = slots_take(s->steps);
	if (c->borrowed < 0)
		return c->borrowed;
	for (uint32_t step = 0; step < s->steps; step++) {
		const uint64_t bit = parent->heap.bit + step;
		int error = step && bit % 64 ? 0 : promise_word(&parent->touched, bit / 64, &touched);
		const bool has = touched >> bit % 64 & 1 && !(parent->shield && split_find(parent->shield, step));
		const unsigned rights = has ? rights_of_step(parent, step) : 0;
		const bool shares = has && rights == PAGE_RIGHTS_DEFAULT;
		shared += shares;
		if (!error && has && !shares)
			error = inherit_step(c->process, parent, step, rights);
		const uint32_t end = shares ? step + 1 : step;
		if (!error && shared && (!shares || shared == TOGETHER || end == s->steps)) {
			error = share_lend(s, from, to, end - shared, shared);
			shared = 0;
		}
		if (error)
			return error;
		sign_pass();
	}
	return 0;
}
