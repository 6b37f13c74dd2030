/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps of a program's heap in which pages have several rights: of frames of 4 KiB, which are made, PARTS of them
 * together, when they are first touched.
 */
#pragma once

#include <stdint.h>
#include <skerry/page_rights.h>
#include "grant.h"

enum { STEP_PAGES = PROCESS_HEAP_STEP / 4096, PART_PAGES = PROCESS_STACK_STEP / 4096 };

struct split {
	uint32_t step; /* of the heap, from 0 */
	int first;     /* slot of the first frame */
	uint64_t made; /* a bit for each part */
};

/* The state of a program from its first MANAGER_PROTECT on. */
struct shield {
	struct page_rights rights;
	uint32_t split_count;
	struct split split[PROCESS_SPLITS];
};

/* Takes the memory of page tables for a heap of so many steps. Returns 0 or an error. */
int split_reserve(struct process *p, uint32_t steps);

/* Returns the split step, null where it is whole. */
struct split *split_find(struct shield *shield, uint32_t step);

/* Splits a step, all pages of which have the same rights. Its content stays. Returns null and an error. */
struct split *split_make(struct process *p, uint32_t step, int *error);

/* Splits a child's next step as its parent's `from`, with a copy of what is there. Returns 0 or an error. */
int split_inherit(struct process *p, const struct split *from);

/* Makes a part unless it is there, and maps those of its pages that may be read. Returns 0 or an error. */
int split_keep(struct process *p, struct split *s, unsigned part);

/* Maps those of `count` frames that may be read, the first page being `page`. Returns 0 or an error. */
int split_map(const struct process *p, int first, uint64_t page, uint32_t count);
