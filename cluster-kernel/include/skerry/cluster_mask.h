/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cluster masks: sets of cores in one word (Uhlig 2007, section 2.2). A mask has a window of 16 granules, each of
 * 2^order cores, from core `offset` on; a granule is in the set if its bit is.
 *
 *     bit    31 ... 26 | 25 ... 16 | 15 ... 0
 *            order     | offset    | bitmap
 *
 *     order 0, offset 2, bits 0, 1, 3     cores 2, 3, 5
 *     order 1, offset 10, bits 0, 2       cores 10, 11, 14, 15
 *
 * The offset is the number of a core, not of a granule. The word 0 is the set of all cores, so that zeroed memory is a
 * mask; any other word without a bit is the empty set. Core numbers have 32 bits; of a granule that goes beyond them,
 * what lies below counts.
 *
 * Sets of cores that lie within 16 of each other are exact. A set that does not fit becomes a superset: mask_of() of a
 * core beyond MASK_EXACT_LAST, mask_join() of cores far apart.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MASK_ALL  0u
#define MASK_NONE (1u << 16)

enum {
	MASK_BITS = 16,
	MASK_OFFSET_SHIFT = 16,
	MASK_ORDER_SHIFT = 26,
	MASK_ORDER_MAX = 63,
	MASK_OFFSET_MAX = 1023,
	MASK_EXACT_LAST = MASK_OFFSET_MAX + MASK_BITS - 1, /* the last core that mask_of() names alone */
	MASK_ORDER_ALL = 28,  /* 16 granules of this order are all cores */
	MASK_ORDER_LAST = 32, /* one granule is: no larger order differs from this one */
};

/* `order` up to MASK_ORDER_MAX, `offset` up to MASK_OFFSET_MAX, `bitmap` of MASK_BITS bits. */
static inline uint32_t mask_make(uint32_t order, uint32_t offset, uint32_t bitmap)
{
	return order << MASK_ORDER_SHIFT | offset << MASK_OFFSET_SHIFT | bitmap;
}

/* The same set as a window; MASK_ALL alone is none. */
static inline uint32_t mask_window(uint32_t mask)
{
	return mask == MASK_ALL ? mask_make(MASK_ORDER_ALL, 0, (1u << MASK_BITS) - 1) : mask;
}

static inline uint32_t mask_bitmap(uint32_t mask) { return mask & ((1u << MASK_BITS) - 1); }
static inline uint32_t mask_offset(uint32_t mask) { return mask >> MASK_OFFSET_SHIFT & MASK_OFFSET_MAX; }

/* At most MASK_ORDER_LAST, so that a 64-bit number can be shifted by it. */
static inline uint32_t mask_order(uint32_t mask)
{
	uint32_t order = mask >> MASK_ORDER_SHIFT;
	return order < MASK_ORDER_LAST ? order : MASK_ORDER_LAST;
}

/* The granule of a core that is not before the window; MASK_BITS or more: none. */
static inline uint64_t mask_granule(uint32_t order, uint32_t offset, uint64_t core) { return (core - offset) >> order; }

/* The first core of a granule, and of granule + 1 the first core behind it; at most 2^32. */
static inline uint64_t mask_first(uint32_t mask, uint32_t granule)
{
	uint64_t first = mask_offset(mask) + ((uint64_t)granule << mask_order(mask));
	return first < 1ull << 32 ? first : 1ull << 32;
}

static inline bool mask_has(uint32_t mask, uint32_t core)
{
	if (mask == MASK_ALL)
		return true;
	uint32_t offset = mask_offset(mask);
	if (core < offset)
		return false;
	uint64_t granule = mask_granule(mask_order(mask), offset, core);
	return granule < MASK_BITS && (mask_bitmap(mask) >> granule & 1);
}

/* The number of members below `cores`, which is at most 2^32. */
static inline uint64_t mask_count(uint32_t mask, uint64_t cores)
{
	uint64_t count = 0;
	mask = mask_window(mask);
	for (uint32_t i = 0; i < MASK_BITS; i++) {
		uint64_t first = mask_first(mask, i), end = mask_first(mask, i + 1);
		if ((mask_bitmap(mask) >> i & 1) && first < cores)
			count += (end < cores ? end : cores) - first;
	}
	return count;
}

/* The first member; 2^32 where there is none. */
static inline uint64_t mask_least(uint32_t mask)
{
	mask = mask_window(mask);
	return mask_bitmap(mask) ? mask_first(mask, (uint32_t)__builtin_ctz(mask_bitmap(mask))) : 1ull << 32;
}

/* Whether `core` is the only member. */
static inline bool mask_only(uint32_t mask, uint32_t core)
{
	return mask_has(mask, core) && mask_count(mask, 1ull << 32) == 1;
}

/* The bits of a window for all cores from `first` to `last`, which lie in it. */
static inline uint32_t mask_bits(uint32_t order, uint32_t offset, uint64_t first, uint64_t last)
{
	uint64_t from = mask_granule(order, offset, first), to = mask_granule(order, offset, last);
	return (uint32_t)((2ull << to) - (1ull << from));
}

/* Whether each member of `part` is one of `mask`. */
static inline bool mask_covers(uint32_t mask, uint32_t part)
{
	mask = mask_window(mask);
	part = mask_window(part);
	uint32_t order = mask_order(mask), offset = mask_offset(mask);
	for (uint32_t i = 0; i < MASK_BITS; i++) {
		uint64_t first = mask_first(part, i), end = mask_first(part, i + 1);
		if (!(mask_bitmap(part) >> i & 1) || first == end)
			continue;
		if (first < offset || mask_granule(order, offset, end - 1) >= MASK_BITS)
			return false;
		uint32_t bits = mask_bits(order, offset, first, end - 1);
		if ((mask_bitmap(mask) & bits) != bits)
			return false;
	}
	return true;
}

/* The least order with which a window from `offset` on reaches `last`. */
static inline uint32_t mask_order_to(uint32_t offset, uint64_t last)
{
	uint32_t order = 0;
	while (mask_granule(order, offset, last) >= MASK_BITS)
		order++;
	return order;
}

static inline uint32_t mask_of(uint32_t core)
{
	uint32_t offset = core < MASK_OFFSET_MAX ? core : MASK_OFFSET_MAX, order = mask_order_to(offset, core);
	return mask_make(order, offset, 1u << mask_granule(order, offset, core));
}

/* A set with all members of both: itself where one covers the other, else in the smallest window that reaches them. */
static inline uint32_t mask_join(uint32_t a, uint32_t b)
{
	if (mask_covers(a, b))
		return a;
	if (mask_covers(b, a))
		return b;
	uint64_t low = UINT64_MAX, last = 0;
	for (uint32_t i = 0; i < 2 * MASK_BITS; i++) {
		uint32_t mask = i < MASK_BITS ? a : b, granule = i % MASK_BITS;
		uint64_t first = mask_first(mask, granule), end = mask_first(mask, granule + 1);
		if (!(mask_bitmap(mask) >> granule & 1) || first == end)
			continue;
		low = first < low ? first : low;
		last = end - 1 > last ? end - 1 : last;
	}
	uint32_t offset = low < MASK_OFFSET_MAX ? (uint32_t)low : MASK_OFFSET_MAX, order = mask_order_to(offset, last),
	         bitmap = 0;
	for (uint32_t i = 0; i < 2 * MASK_BITS; i++) {
		uint32_t mask = i < MASK_BITS ? a : b, granule = i % MASK_BITS;
		uint64_t first = mask_first(mask, granule), end = mask_first(mask, granule + 1);
		if ((mask_bitmap(mask) >> granule & 1) && first != end)
			bitmap |= mask_bits(order, offset, first, end - 1);
	}
	return mask_make(order, offset, bitmap);
}
