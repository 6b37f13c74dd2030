/* SPDX-License-Identifier: BSD-2-Clause */
/* A call that stops at a preemption point, since a thread of higher priority is woken meanwhile. On core 0. */
#pragma once

#include <stdint.h>

enum { STOPPED_WORKER = 1010, STOPPED_NOTE = 1030 }; /* slots; all below 1040 are taken */

extern struct thread *high, *worker;

/* From now on `high` runs; when it waits, the worker does. */
void stopped_begin(void);
/* `high` waits until then; 0: for a signal. */
void stopped_wait(uint64_t deadline);
/* The worker makes a call in which it is interrupted after `budgets`, roughly: `high` runs. */
void stopped_call(unsigned budgets, uint64_t cptr, uint64_t label, const uint64_t *words, unsigned word_count,
                  const uint64_t *caps, unsigned cap_count);
/* The call goes on and ends with this result; then `high` runs once more. */
void stopped_finish(uint64_t expected);
