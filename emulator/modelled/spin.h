/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a program that spins with PAUSE is where it was a turn ago: at the same PAUSE, its registers are the same,
 * and since then it has done nothing that its registers need not show. Then its next turns are the same, too, until
 * another core takes a line that it reads, or an interrupt comes: the turns may be skipped. A loop that goes on by a
 * count is never there: its count is in a register, or it stores it.
 *
 * If turns were skipped, and nothing came between, the next turn must end in the state in which the core was parked;
 * else the turns that were skipped had not been equal either. Those are counted: the figures of such a run are wrong.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SPIN_GENERAL = 16, SPIN_WIDE = 48 };

/* Events of a core since its last PAUSE. */
enum {
	SPIN_STORED = 1,    /* a store to memory */
	/* looked at the time, or at a device: what it finds there changes without a line that is taken */
	SPIN_LOOKED = 2,
	SPIN_DISTURBED = 4, /* something else came between: the kernel, or a phase without prices */
	SPIN_TAKEN = 8      /* nothing; but another core took a line from it, or it waited for one */
};

struct spin {
	uint64_t place; /* the address of its last PAUSE; 0: there was none */
	uint64_t general[SPIN_GENERAL], wide[SPIN_WIDE]; /* at that PAUSE */
	bool wide_known; /* `wide` is: it is read only where all else is the same */
	uint64_t skipped; /* turns that were skipped at that PAUSE */
	uint64_t wrong; /* turns in all that were skipped and were not equal */
};

/* Reads a core's registers. */
struct spin_source {
	uint64_t (*general)(unsigned core, unsigned number);
	void (*wide)(unsigned core, uint64_t to[SPIN_WIDE]);
};

/* The core is at a PAUSE, at `place`, and has done `did` since the last one. Returns whether nothing has changed
 * since. */
bool spin_turn(struct spin *spin, const struct spin_source *source, unsigned core, uint64_t place, unsigned did);
/* The core has been parked at its last PAUSE and goes on, `turns` of its loop later. `same`: nothing had changed when
 * it was parked. */
void spin_skipped(struct spin *spin, uint64_t turns, bool same);
