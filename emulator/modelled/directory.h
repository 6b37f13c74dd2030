/* SPDX-License-Identifier: BSD-2-Clause */
/* The modelled machine's directory of lines of memory. */
#pragma once

#include <stdlib.h>
#include "memory.h"

struct line {
	uint64_t sharers; /* cores that have it in L1 or L2, the owner too */
	uint64_t l3;      /* clusters that have it in L3 */
	uint64_t busy;    /* until when it is under way to the core that asked last */
	uint32_t upgrade; /* how long the upgrade takes that makes it busy; 0: it moves for another reason */
	uint8_t rotation; /* of a page's first line: 1 + by how many lines it is rotated in L1I; 0: not drawn */
	uint8_t owner;    /* core + 1 of the one that may write it; 0: none */
};

enum { CHUNK_LINES = 4096 };

static inline struct line *directory_line(struct memory *memory, uint64_t number)
{
	struct line **chunk = &memory->chunk[number / CHUNK_LINES];
	if (__builtin_expect(!*chunk, 0)) {
		*chunk = calloc(CHUNK_LINES, sizeof(struct line));
		if (!*chunk)
			abort();
	}
	return &(*chunk)[number % CHUNK_LINES];
}
