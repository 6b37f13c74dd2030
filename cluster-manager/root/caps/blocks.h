/* SPDX-License-Identifier: BSD-2-Clause */
/* The blocks of memory.c, for those that give whole ones away and get others (memory-move.c). */
#pragma once

#include <stdint.h>
#include <skerry/root_info.h>

enum { BITS_MIN = 6 /* the smallest kernel object */, BITS_MAX = 47, BLOCK_PAIRS = (1 + ROOT_MAX_UNTYPED + 1) & ~1 };

/*
 * Blocks. One that is split is the parent of its halves, whose records are a
 * pair: numbers 2n and 2n + 1. The blocks that the loader has left have numbers below BLOCK_PAIRS.
 */
enum block_state { BLOCK_FREE, BLOCK_TAKEN, BLOCK_SPLIT, BLOCK_NONE }; /* NONE: a single record that is spare */
struct block {
	uint32_t slot;
	uint32_t parent;         /* 0: the loader's, or one that came from another cluster */
	/* in the list of free ones of its size; next: of its owner's; of spare pairs, of the even one */
	uint32_t next, previous;
	uint8_t bits, state;
};

struct block *block_at(uint32_t i);
/* The first free block of this size, linked by `next`; 0: none. */
uint32_t block_free(unsigned bits);
/* Takes a block of 1 << bits bytes for owner_now(). Returns 0 without one, and why. */
uint32_t block_take(unsigned bits, int *error);
/* A block that nothing is made of becomes free, and one with its other half where that is free. */
void block_release(uint32_t i);
/* Into the list of free ones, as it is. */
void block_push(uint32_t i);
/* Two spare records in a row; 0: there are none. */
uint32_t block_pair_take(void);
void block_pair_put(uint32_t i);
/* Changes the sum that memory_total() returns. */
void memory_total_change(int64_t bytes);
