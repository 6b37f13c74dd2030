/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest's time-stamp counter, where QEMU's own count of ticks can be set. QEMU answers an RDTSC with the host's
 * counter and an offset, but never with less than its last answer. So the answer that is wanted is set as its last, and
 * the offset so low that the host's counter does not matter. This costs two stores; to trap the read (trap.h) costs a
 * signal.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How QEMU's `timers_state` begins. */
struct ticks {
	int64_t last, offset;
};

/*
 * `state` is QEMU's, or null; `get` its function that answers. Returns whether they are to each other what is said
 * above, which is tried; *state is as before then. To be called before the machine has run.
 */
bool ticks_take(struct ticks *state, int64_t (*get)(void));
/* Sets the result of the next read, if ticks_take() has returned true; no thread may read meanwhile. `value` is less
 * than 2^62. */
void ticks_set(uint64_t value);
