/* SPDX-License-Identifier: BSD-2-Clause */
#include "restart.h"

bool restart_spent(const struct restart_history *history, uint32_t limit, uint64_t now)
{
	if (!limit || history->count < limit)
		return false;
	return now - history->at[(history->count - limit) % MAP_RESTART_LIMIT_MAX] < RESTART_WINDOW_MS;
}

uint64_t restart_note(struct restart_history *history, uint32_t first_delay, uint64_t now)
{
	uint64_t last = history->at[(history->count - 1) % MAP_RESTART_LIMIT_MAX], delay = first_delay;
	if (!history->count || now - last >= RESTART_WINDOW_MS)
		history->in_a_row = 0;
	for (uint32_t i = 0; i < history->in_a_row && delay < RESTART_DELAY_MOST_MS; i++)
		delay *= 2;
	history->in_a_row++;
	history->at[history->count++ % MAP_RESTART_LIMIT_MAX] = now;
	return delay < RESTART_DELAY_MOST_MS ? delay : RESTART_DELAY_MOST_MS;
}
