/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorted sets of physical address ranges. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/boot.h>

enum { RANGES_MAX = 128 };

struct ranges {
	uint32_t count;
	uint64_t lost; /* bytes that found no room */
	struct boot_range at[RANGES_MAX]; /* ascending, disjoint, not adjacent, none empty */
};

/*
 * A set that is full drops what does not fit, and counts it in `lost`: it may lose addresses, but never holds one that
 * was not added, or that was removed.
 */
void ranges_add(struct ranges *set, uint64_t base, uint64_t size);
void ranges_remove(struct ranges *set, uint64_t base, uint64_t size);

/* How many bytes of base .. base + size - 1 are in the set. */
uint64_t ranges_common(const struct ranges *set, uint64_t base, uint64_t size);

/* Shrinks every range to whole multiples of `align`. */
void ranges_trim(struct ranges *set, uint64_t align);

/*
 * The highest multiple of `align` at which `size` bytes lie in `set` and touch
 * nothing of `avoid`.
 */
bool ranges_find(const struct ranges *set, const struct ranges *avoid, uint64_t size, uint64_t align,
		 uint64_t *base);

/* Removes the smallest ranges until at most `count` are left. */
void ranges_keep_largest(struct ranges *set, uint32_t count);

/* Returns how many bytes are in the set. */
uint64_t ranges_total(const struct ranges *set);
