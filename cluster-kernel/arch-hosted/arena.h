/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Physical memory: one reservation of addresses for all machines of the
 * process. Each cluster owns an equal part of it, part 0 holds what clusters
 * share. Nothing is accessible before it is taken.
 */
#pragma once

#include <stdint.h>

enum { ARENA_CLUSTERS = 63, ARENA_PART_BITS = 28 };

/* Physical address of a cluster's part. */
static inline uint64_t arena_part(unsigned cluster) { return (uint64_t)(cluster + 1) << ARENA_PART_BITS; }

/* Makes `size` bytes at physical `base` zeroed memory; aborts when the host has none. */
void arena_take(uint64_t base, uint64_t size);
/* Any access is a fault again. */
void arena_drop(uint64_t base, uint64_t size);
