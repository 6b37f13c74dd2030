/* SPDX-License-Identifier: BSD-2-Clause */
/* The modelled machine's directory of lines of memory. */
#pragma once

#include <stdlib.h>
#include "memory.h"
#include "sets.h"

struct line {
	uint64_t busy;    /* until when it is under way to the core that asked last */
	uint32_t upgrade; /* how long the upgrade takes that makes it busy; 0: it moves for another reason */
	uint16_t owner;   /* core + 1 of the one that may write it; 0: none */
	uint8_t rotation; /* of a page's first line: 1 + by how many lines it is rotated in L1I; 0: not drawn */
	/* cores that have it in L1 or L2, the owner too; behind them the clusters that have it in L3 */
	uint64_t sharers[];
};
_Static_assert(MOST_CORES < UINT16_MAX, "an owner");

enum { CHUNK_LINES = 4096 };

static inline size_t line_size(const struct memory *memory)
{
	return sizeof(struct line) + (memory->core_words + memory->cluster_words) * sizeof(uint64_t);
}

static inline struct line *directory_line(struct memory *memory, uint64_t number)
{
	void **chunk = &memory->chunk[number / CHUNK_LINES];
	if (__builtin_expect(!*chunk, 0)) {
		*chunk = calloc(CHUNK_LINES, line_size(memory));
		if (!*chunk)
			abort();
	}
	return (struct line *)(void *)((char *)*chunk + number % CHUNK_LINES * line_size(memory));
}

/* The clusters that have the line in L3. */
static inline uint64_t *line_l3(const struct memory *memory, struct line *line)
{
	return line->sharers + memory->core_words;
}
