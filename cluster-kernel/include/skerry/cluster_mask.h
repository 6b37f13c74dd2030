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

/* The cores of a mask, as the head of this file defines them. */
/*@ logic integer mask_shift(integer mask) = mask >> 26 < 32 ? mask >> 26 : 32;
  @ predicate mask_holds(integer mask, integer core) = mask == 0 || (core >= (mask >> 16 & 1023) &&
  @   (core - (mask >> 16 & 1023)) >> mask_shift(mask) < 16 &&
  @   ((mask & 65535) >> ((core - (mask >> 16 & 1023)) >> mask_shift(mask) & 15) & 1) == 1);
  @ predicate mask_same(integer a, integer b, integer core) = mask_holds(a, core) <==> mask_holds(b, core); */
/* `order` up to MASK_ORDER_MAX, `offset` up to MASK_OFFSET_MAX, `bitmap` of MASK_BITS bits. */
/*@ requires order <= 63 && offset <= 1023 && bitmap <= 65535;
  @ assigns \nothing;
  @ ensures bits: \result == order * 67108864 + offset * 65536 + bitmap; */
static inline uint32_t mask_make(uint32_t order, uint32_t offset, uint32_t bitmap)
{
	return order << MASK_ORDER_SHIFT | offset << MASK_OFFSET_SHIFT | bitmap;
}

/* The same set as a window; MASK_ALL alone is none. */
/*@ assigns \nothing;
  @ ensures bits: same: \forall integer core; 0 <= core < 4294967296 ==> mask_same(\result, mask, core);
  @ ensures bits: window: \result != 0; */
static inline uint32_t mask_window(uint32_t mask)
{
	return mask == MASK_ALL ? mask_make(MASK_ORDER_ALL, 0, (1u << MASK_BITS) - 1) : mask;
}

/*@ assigns \nothing; ensures bits: \result == mask % 65536; */
static inline uint32_t mask_bitmap(uint32_t mask) { return mask & ((1u << MASK_BITS) - 1); }
/*@ assigns \nothing; ensures bits: \result == mask / 65536 % 1024; */
static inline uint32_t mask_offset(uint32_t mask) { return mask >> MASK_OFFSET_SHIFT & MASK_OFFSET_MAX; }

/* At most MASK_ORDER_LAST, so that a 64-bit number can be shifted by it. */
/*@ assigns \nothing; ensures bits: \result == mask_shift(mask) && \result <= 32; */
static inline uint32_t mask_order(uint32_t mask)
{
	uint32_t order = mask >> MASK_ORDER_SHIFT;
	return order < MASK_ORDER_LAST ? order : MASK_ORDER_LAST;
}

/* The granule of a core that is not before the window; MASK_BITS or more: none. */
/*@ requires order <= 32 && offset <= core && offset <= 1023 && core < 4294967296;
  @ assigns \nothing;
  @ ensures bits: \result << order <= core - offset < (\result + 1) << order; */
static inline uint64_t mask_granule(uint32_t order, uint32_t offset, uint64_t core) { return (core - offset) >> order; }

/* The first core of a granule, and of granule + 1 the first core behind it; at most 2^32. */
/*@ requires granule <= 16;
  @ assigns \nothing;
  @ ensures bits: exact: \result == 1 << 32 || \result == mask / 65536 % 1024 + (granule << mask_shift(mask));
  @ ensures bits: most: \result <= 1 << 32; */
static inline uint64_t mask_first(uint32_t mask, uint32_t granule)
{
	uint64_t first = mask_offset(mask) + ((uint64_t)granule << mask_order(mask));
	return first < 1ull << 32 ? first : 1ull << 32;
}

/*@ assigns \nothing; ensures bits: \result <==> mask_holds(mask, core); */
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
/*@ requires cores <= 4294967296;
  @ assigns \nothing;
  @ ensures bits: all: mask == 0 ==> \result == cores; */
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
/*@ assigns \nothing;
  @ ensures bits: least: \forall integer core; 0 <= core < 4294967296 && mask_holds(mask, core) ==> \result <= core;
  @ ensures bits: member: \result < 1 << 32 ==> mask_holds(mask, \result); */
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
/*@ requires order <= 32 && offset <= first && first <= last && last < 4294967296 && offset <= 1023;
  @ requires (last - offset) >> order < 16;
  @ assigns \nothing;
  @ ensures bits: \forall integer n; 0 <= n < 32 ==>
  @   ((\result >> n & 1) == 1 <==> (first - offset) >> order <= n <= (last - offset) >> order); */
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
/*@ requires offset <= 1023 && offset <= last && last < 4294967296;
  @ assigns \nothing;
  @ ensures bits: fits: \result <= 28 && (last - offset) >> \result < 16;
  @ ensures bits: least: \result > 0 ==> (last - offset) * 2 >> \result >= 16; */
static inline uint32_t mask_order_to(uint32_t offset, uint64_t last)
{
	uint32_t order = 0;
	while (mask_granule(order, offset, last) >= MASK_BITS)
		order++;
	return order;
}

/*@ assigns \nothing;
  @ ensures bits: member: mask_holds(\result, core);
  @ ensures bits: exact: \forall integer other; 0 <= other < 4294967296 && core <= 1038 &&
  @   mask_holds(\result, other) ==> other == core; */
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
