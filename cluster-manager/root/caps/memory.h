/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cluster's ordinary memory: a buddy allocator whose blocks are untypeds
 * and whose way to split a block is to retype it into two of half its size.
 * Two free halves are joined again.
 *
 * Functions that give slots return the first of consecutive slots of the root
 * CNode, or an error negated. What they give belongs to owner_now() (slots.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/syscall.h>

/* Takes the untypeds of ordinary memory in ROOT. Called once, before the others. */
void memory_init(void);

/* Takes an untyped of 1 << bits bytes. */
int memory_untyped(unsigned bits);
/* Makes one object; `size_bits` as in UNTYPED_RETYPE. */
int memory_object(enum skerry_object type, unsigned size_bits);
/* Makes `count` frames of 4 KiB or 2 MiB, not contiguous in general. */
int memory_frames(enum skerry_object type, uint32_t count);
/* The same, each with the content of one of as many frames of that size in slots from `from` on, which nobody writes
 * meanwhile. 0: they are empty. */
int memory_frames_copy(enum skerry_object type, uint32_t count, int from);

/* Memory and slots for objects that are made later: making them cannot fail for want of either. */
struct memory_reserve {
	enum skerry_object type;
	unsigned size_bits; /* as in UNTYPED_RETYPE */
	uint32_t block; /* that the next object is made of */
	uint64_t used;  /* bytes of it */
	uint32_t left;  /* objects that are not made yet */
};
/* Takes memory and slots for `count` objects of one size, and makes none. Returns the first slot. */
int memory_reserve(struct memory_reserve *reserve, enum skerry_object type, unsigned size_bits, uint32_t count);
/*
 * Makes objects of the reserve in `count` of its slots, in any order, each slot once; frames as memory_frames_copy()
 * does. Returns 0 or an error: SLOT_FULL where there is one in the first slots already, as when all have been made.
 */
int memory_commit(struct memory_reserve *reserve, int first, uint32_t count, int from);
/* Fills `count` slots from `first` with objects, of a size that needs no `size_bits`, out of `untyped`, which has room
 * for them; frames as memory_frames_copy() does. */
int memory_retype(int untyped, enum skerry_object type, int first, uint32_t count, int from);
/* Makes 1 << count_bits frames, physically contiguous and aligned. */
int memory_contiguous(enum skerry_object type, unsigned count_bits);

/*
 * Takes back all memory and slots of an owner: revokes its untypeds, with every object that was made of them, and
 * deletes its other capabilities.
 */
void memory_return(uint32_t owner);

enum { MEMORY_RECORDS_SIZE = 16384 };
/* Returns whether the allocator's records suffice for `blocks` more blocks. */
bool memory_has_records(uint64_t blocks);
/* Takes MEMORY_RECORDS_SIZE zeroed bytes for more records, for good. */
void memory_give_records(void *memory);

/* Returns the bytes of the cluster's ordinary memory, free or not. */
uint64_t memory_total(void);
/* Returns how many of them are in free blocks. */
uint64_t memory_free(void);
