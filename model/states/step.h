/* SPDX-License-Identifier: BSD-2-Clause */
/* One step of the tiny machine. Two cores are fibers: a core that waits inside the kernel is a part of the state. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "operations.h"

struct thread;

enum {
	STEP_CORES = 2,
	STEP_STACK = 4096, /* bytes of a core's stack that are kept: no kernel entry uses more where it may stop */
};

/*
 * What `part` means: of a machine of one core, the call stops at its first preemption point, and the clock goes on to
 * the timer; of several, the core goes on to the next place where another core may.
 */
struct step {
	unsigned core;
	const struct operation *operation;
	bool part;
};

/* The part of the stacks that is in use is part of the state, and is not in the write log. */
struct step_stacks {
	uint8_t byte[STEP_CORES][STEP_STACK];
};

/* Does the step. Returns false where it cannot be done, or is the same as another one; the caller undoes the writes. */
bool step_do(const struct step *step);
/* No core is inside the kernel, none has an interrupt to take: kernel_check() may be called. */
bool step_at_rest(void);
bool step_inside(unsigned core);
/* The core's thread makes a call or raises a trap once more as the next thing that it does. */
bool step_restarts(unsigned core);
void stacks_save(struct step_stacks *to);
/* `from` is what was saved before the last steps; `all`: whatever they did. */
void stacks_restore(const struct step_stacks *from, bool all);
uint64_t stacks_hash(void);
