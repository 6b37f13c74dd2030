/* SPDX-License-Identifier: BSD-2-Clause */
/* All capabilities of the tiny machine and their derivation, as the kernel's tree has them; and its threads' states. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "cap.h"
#include "thread.h"

enum { CENSUS_MAX = 512, CENSUS_TABLE = 2048, CENSUS_THREADS = 16 };

struct census {
	unsigned count;
	struct census_entry {
		struct slot *slot;
		struct cap cap;
		int parent; /* index, -1: a root */
	} entry[CENSUS_MAX]; /* each behind its parent */
	uint16_t table[CENSUS_TABLE]; /* by slot: index + 1 */
	unsigned threads;
	struct census_thread {
		struct thread *thread;
		enum thread_state state;
		const struct notification *notification, *bound;
		const struct reply *reply;
	} thread[CENSUS_THREADS]; /* each once */
};

/* Notes which trees there are: called when the machine is made. */
void census_begin(void);
void census_take(struct census *census);
/* Returns the index of the slot's entry, -1: it is empty. */
int census_find(const struct census *census, const struct slot *slot);
/* Returns whether entry `ancestor` is above entry `index`. */
bool census_derives(const struct census *census, int index, int ancestor);
const struct census_thread *census_thread(const struct census *census, const struct thread *thread);
