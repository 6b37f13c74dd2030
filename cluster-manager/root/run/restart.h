/* SPDX-License-Identifier: BSD-2-Clause */
/* When a program that has ended, or a cluster that is lost, is started again. Times are in milliseconds; they never run
 * backwards. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/cluster_map.h>

enum { RESTART_WINDOW_MS = 60000, RESTART_DELAY_MOST_MS = 5000 };

/* All zero: it was never started again. */
struct restart_history {
	uint64_t at[MAP_RESTART_LIMIT_MAX]; /* of its last restarts, that with number n at n modulo the maximum */
	uint32_t count;
	uint32_t in_a_row; /* each within RESTART_WINDOW_MS of the one before */
};

/* Returns whether it has been started again as often as it may within RESTART_WINDOW_MS; `limit` 0: there is none. */
bool restart_spent(const struct restart_history *history, uint32_t limit, uint64_t now);
/* Notes a restart. Returns how long to wait before it: `first_delay`, and longer where it comes soon after the last. */
uint64_t restart_note(struct restart_history *history, uint32_t first_delay, uint64_t now);
