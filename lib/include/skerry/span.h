/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spans of bytes or addresses: a first one and a size. No sum of two numbers that others have written is formed before
 * it is known to fit 64 bits. Contracts: docs/proofs.md.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/require.h>

/* Returns whether the span lies in 0 .. limit - 1; an empty one may lie at the limit. */
/*@ assigns \nothing;
  @ ensures \result <==> first + size <= limit; */
static inline bool span_fits(uint64_t first, uint64_t size, uint64_t limit)
{
	return first <= limit && size <= limit - first;
}

/* Returns whether the span ends at or before the last address of 64 bits; its end itself may be 2^64. */
/*@ assigns \nothing;
  @ ensures \result <==> first + size <= UINT64_MAX + 1; */
static inline bool span_ends(uint64_t first, uint64_t size) { return size == 0 || size - 1 <= UINT64_MAX - first; }

/* Returns what of a span's size lies below `limit`. */
/*@ assigns \nothing;
  @ ensures below: \result == 0 || first + \result <= limit;
  @ ensures all: first + size <= limit ==> \result == size;
  @ ensures most: first < limit < first + size ==> first + \result == limit; */
static inline uint64_t span_clip(uint64_t first, uint64_t size, uint64_t limit)
{
	return first >= limit ? 0 : size > limit - first ? limit - first : size;
}

/* Returns whether two spans have a byte in common. */
/*@ requires a + a_size <= UINT64_MAX && b + b_size <= UINT64_MAX;
  @ requires a_size > 0 && b_size > 0;
  @ assigns \nothing;
  @ ensures \result <==> (a <= b < a + a_size || b <= a < b + b_size); */
static inline bool spans_overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
	return a < b + b_size && b < a + a_size;
}

/* Returns whether one bit of the number is set. */
/*@ assigns \nothing;
  @ ensures bits: one: \result ==> \forall integer n, m; 0 <= n < m <= 63 ==>
  @   !((value >> n & 1) == 1 && (value >> m & 1) == 1);
  @ ensures bits: some: \result ==> value > 0;
  @ ensures bits: every: \forall integer n; 0 <= n <= 63 ==> value == 1 << n ==> \result; */
static inline bool is_power_of_two(uint64_t value) { return value && !(value & (value - 1)); }

/* Returns the next multiple of `align`, a power of two; `value` where it is one. */
/*@ requires power: align > 0 && (align & (align - 1)) == 0;
  @ requires fits: value + align <= UINT64_MAX;
  @ assigns \nothing;
  @ ensures bits: multiple: (\result & (align - 1)) == 0;
  @ ensures bits: next: value <= \result < value + align; */
static inline uint64_t round_up(uint64_t value, uint64_t align)
{
	require(is_power_of_two(align));
	return (value + align - 1) & ~(align - 1);
}

/* Returns the last multiple of `align`, a power of two, that is not above `value`. */
/*@ requires power: align > 0 && (align & (align - 1)) == 0;
  @ assigns \nothing;
  @ ensures bits: multiple: (\result & (align - 1)) == 0;
  @ ensures bits: last: \result <= value < \result + align; */
static inline uint64_t round_down(uint64_t value, uint64_t align)
{
	require(is_power_of_two(align));
	return value & ~(align - 1);
}
