/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that a program is promised: reserved when the program starts, so that
 * none can be missing later; its frames are made, zeroed and mapped when the
 * program first touches them. A table that the program can read says which are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "memory.h"

/* Frames of a range of addresses, in groups of `step` that are made together. */
struct promise {
	uint64_t address, frame_size;
	uint32_t count, step;
	int first;          /* slot of the first frame */
	int unit;           /* frames of 2 MiB: slot of the untyped of the first one; else 0 */
	uint64_t kept;      /* bytes of the frames that were made */
	uint64_t bit;       /* of the first group in the table */
	struct memory_reserve reserve;
};

/* struct process_touched (skerry/process.h): a second capability to each page, to write there. */
struct promise_table {
	int pages;
};

/* Makes the table for a heap of so many bytes, with the content of `from` (null: empty), and maps it. Returns 0 or an
 * error. */
int promise_table_make(struct promise_table *t, int vspace, uint64_t heap, const struct promise_table *from);

/*
 * Reserves memory for the range, `first_bit` being its first group's. Returns 0 or an error. The range's page tables
 * are the caller's to make (promise_tables()).
 */
int promise_make(struct promise *p, uint64_t address, enum skerry_object frame, uint64_t size, uint32_t step,
                 uint64_t first_bit);

/* Makes the first group, and all page tables that the range will need. Returns 0 or an error. */
int promise_tables(struct promise *p, int vspace, const struct promise_table *t);

/* Makes the frames of a group without mapping them. Returns 0 or an error. */
int promise_commit(struct promise *p, uint32_t group);
/* The same, with the content of as many frames in slots from `from` on. */
int promise_commit_copy(struct promise *p, uint32_t group, int from);
/* Maps a group's frames and notes that in the table. Returns 0 or an error. */
int promise_map(const struct promise *p, int vspace, const struct promise_table *t, uint32_t group, unsigned rights);

/* Returns whether the address is in the range. */
static inline bool promise_has(const struct promise *p, uint64_t address)
{
	return address - p->address < (uint64_t)p->count * p->frame_size;
}

/* Makes and maps the group that has the address, which is in the range, unless it is there. Returns 0 or an error. */
int promise_keep(struct promise *p, int vspace, const struct promise_table *t, uint64_t address, unsigned rights);

/* Reads a word of the table. Returns 0 or an error. */
int promise_word(const struct promise_table *t, uint64_t word, uint64_t *value);
/* Sets a bit of the table, or a whole word of it. Returns 0 or an error. */
int promise_note(const struct promise_table *t, uint64_t bit);
int promise_note_word(const struct promise_table *t, uint64_t word, uint64_t value);
