/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of the heap that processes of a family share until one of them writes there. A frame is always that of the
 * process for which it was made, its owner; others borrow it, and map it read-only. Each process has memory of its own
 * for each step from its start on, so that a copy cannot fail for want of memory:
 *
 *     a step is           not borrowed, not lent   lent to others            borrowed
 *     a write by it       its owner's right again  each borrower gets a      it gets a copy, of which it
 *                                                  copy; as not lent then    is the owner
 *     a fork of it        lent to the child        lent to one more          lent by its owner to one more
 *     its end             the frame goes           stays until no one        lent to one less
 *                                                  borrows of it
 *
 * The kernel's TLB shootdown ends before FRAME_PROTECT returns, so nobody writes a frame from the moment on in which it
 * is lent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "grant.h"

struct sharer {
	struct process *process; /* null: no process has this place, or frames that others borrow */
	int borrowed;            /* slot of the capability to the frame that it borrows for step 0; others follow */
	uint32_t lent;           /* borrowers of its frames, of all steps */
	uint8_t *source;         /* of each step: 1 + the place of the owner that lends it; 0: none */
	uint8_t *lent_to;        /* how many borrow it */
	uint8_t *closed;         /* 1: its own, which it may not write, as somebody borrows it, or did */
};

struct shares {
	uint32_t steps;          /* of each heap */
	struct sharer at[PROCESS_MEMBERS];
};

/* Returns whether the process shares the step, as a borrower or an owner, or may not write it as it did so. */
bool share_has(const struct shares *s, unsigned place, uint32_t step);
/*
 * Lends `count` steps of `parent`, which are mapped with the rights to read and write, to `child`, which maps nothing
 * there; RANGE_COUNT_MAX at most. Returns 0 or an error; share_end() of the child undoes what is done. Other cores are
 * interrupted for several steps together.
 */
int share_lend(struct shares *s, unsigned parent, unsigned child, uint32_t step, uint32_t count);
/* Gives the process the step for itself, to read and write. Returns 0 or an error. A step of its own that nobody
 * borrows any more brings those behind it that are so, too. */
int share_write(struct shares *s, unsigned place, uint32_t step);
/* Gives each borrower of the process's frames a copy: nobody borrows of it then. Returns 0 or an error. */
int share_settle(struct shares *s, unsigned place);
/* Takes all that it borrows from the process, which maps nothing there then, and gives the borrowers of its frames
 * copies. Returns 0 or an error. */
int share_leave(struct shares *s, unsigned place);
/* The process runs no more: it borrows nothing. Its slots for what it borrowed are its owner's to return. */
void share_end(struct shares *s, unsigned place);
