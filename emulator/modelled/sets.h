/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of numbers, of cores or of clusters: flat arrays of words, as many as the machine's numbers need. What they
 * hold is below that; ranges are from `from` to below `until`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/require.h>
#include "prices.h"

enum { SET_BITS = 64, SET_WORDS = MOST_CORES / SET_BITS };
_Static_assert(MOST_CORES % SET_BITS == 0, "whole words");

/* Returns the words of a set of numbers below `count`. */
static inline unsigned set_words(uint64_t count) { return (unsigned)((count + SET_BITS - 1) / SET_BITS); }

static inline bool set_has(const uint64_t *set, unsigned number)
{
	return set[number / SET_BITS] >> number % SET_BITS & 1;
}
static inline void set_add(uint64_t *set, unsigned number) { set[number / SET_BITS] |= 1ull << number % SET_BITS; }
static inline void set_remove(uint64_t *set, unsigned number)
{
	set[number / SET_BITS] &= ~(1ull << number % SET_BITS);
}
static inline void set_clear(uint64_t *set, unsigned words)
{
	for (unsigned w = 0; w < words; w++)
		set[w] = 0;
}

/* The bits of word `w` whose numbers are in the range. */
static inline uint64_t set_mask(unsigned w, unsigned from, unsigned until)
{
	unsigned first = w * SET_BITS;
	require(from < until && first < until && from < first + SET_BITS);
	uint64_t mask = from > first ? ~0ull << (from - first) : ~0ull;
	return until - first < SET_BITS ? mask & ((1ull << (until - first)) - 1) : mask;
}

/* Returns whether the set has one of the range. */
static inline bool set_any(const uint64_t *set, unsigned from, unsigned until)
{
	for (unsigned w = from / SET_BITS; w * SET_BITS < until && from < until; w++)
		if (set[w] & set_mask(w, from, until))
			return true;
	return false;
}

/* Returns the least of the range that the set has; `until` if there is none. */
static inline unsigned set_next(const uint64_t *set, unsigned from, unsigned until)
{
	for (unsigned w = from / SET_BITS; w * SET_BITS < until && from < until; w++) {
		uint64_t bits = set[w] & set_mask(w, from, until);
		if (bits)
			return w * SET_BITS + (unsigned)__builtin_ctzll(bits);
	}
	return until;
}
