/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "budget.h"

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

struct budget budget_of(size_t memory)
{
	require(memory);
	return (struct budget){
		.send_pool = memory / 4,
		/* a frame of a full segment takes 2048 bytes */
		.receive_pool = memory / 8 * 1460 / 2048,
		.connections_max = (unsigned)(memory / 2 / BUDGET_CONNECTION),
	};
}

static size_t free_of(size_t pool, size_t used) { return used < pool ? pool - used : 0; }

size_t budget_send_limit(const struct budget *budget, size_t used)
{
	return max_size(BUDGET_SEND_MIN, free_of(budget->send_pool, used) / BUDGET_SHARE);
}

size_t budget_send_bytes(size_t limit, size_t held, size_t segment)
{
	require(segment);
	size_t room = free_of(limit, held), cost = segment + BUDGET_SEGMENT_OVERHEAD;
	size_t rest = room % cost;

	return room / cost * segment + free_of(rest, BUDGET_SEGMENT_OVERHEAD);
}

size_t budget_first_window(const struct budget *budget, size_t promised, size_t max)
{
	return min_size(max, max_size(BUDGET_WINDOW_MIN,
				      free_of(budget->receive_pool, promised) / BUDGET_FIRST_WINDOW_SHARE));
}

size_t budget_credit(const struct budget *budget, size_t promised, size_t credit, size_t unread, size_t size,
                     size_t max)
{
	const size_t others = free_of(promised, credit), pool = free_of(budget->receive_pool, others) / BUDGET_SHARE;

	if (unread < credit / 4 && credit >= BUDGET_WINDOW_MIN && credit <= pool && credit <= max)
		return credit; /* as below: nearly every time */
	const size_t limit = max_size(BUDGET_WINDOW_MIN, pool);
	size_t target = unread >= credit / 4 ? credit + size : credit;

	target = max_size(BUDGET_WINDOW_MIN, target);
	return max_size(free_of(credit, size), min_size(min_size(target, limit), max));
}
