/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which lines move between cores, which instructions move them, and whether the cores need each other's bytes.
 *
 * A core that fetches a line has it until another takes it. If it touches none of the bytes meanwhile that others have
 * written since it had the line before, the fetch was for nothing: false sharing (Dubois et al. 1993, "The detection
 * and elimination of useless misses in multiprocessors"). A line is followed from its first movement on.
 */
#pragma once

#include <stdio.h>
#include "memory.h"

/* An access, as far as it lies in one line. */
struct touch {
	unsigned core;
	bool store;
	uint64_t pc, address; /* both virtual */
	uint64_t line;        /* physical */
	unsigned offset, size;
};

void lines_make(unsigned cores);
void lines_free(void);
/* Frees all. */
void lines_reset(void);
/* The access makes the line move. To be called before lines_touched() of the same access. */
void lines_moved(const struct movement *movement, const struct touch *touch);
void lines_touched(const struct touch *touch);
/*
 * Writes the members "moves", "lines" (that moved) and "hottest": the lines with the most movements, at most `most`; of
 * equal ones that of the lower address. Times are cycles.
 */
void lines_write(FILE *out, unsigned most);
