/* SPDX-License-Identifier: BSD-2-Clause */
/* Bitmaps of 64-bit words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/require.h>

static inline bool bit_get(const uint64_t *map, size_t i) { return map[i / 64] >> (i % 64) & 1; }

static inline void bits_fill(uint64_t *map, size_t first, size_t count, bool value)
{
	for (size_t end = first + count; first < end;) {
		size_t offset = first % 64;
		size_t n = end - first < 64 - offset ? end - first : 64 - offset;
		uint64_t mask = (n == 64 ? ~0ull : (1ull << n) - 1) << offset;

		map[first / 64] = value ? map[first / 64] | mask : map[first / 64] & ~mask;
		first += n;
	}
}

static const size_t NO_RUN = ~(size_t)0;

/* The first `count` clear bits in a row from `from` on, in a map of `bits`; or NO_RUN. */
static inline size_t bits_find_run(const uint64_t *map, size_t from, size_t bits, size_t count)
{
	require(count);
	size_t start = from, length = 0;

	for (size_t bit = from; bit < bits;) {
		uint64_t word = map[bit / 64] >> (bit % 64);
		size_t left = 64 - bit % 64;

		if (word & 1) {
			size_t n = ~word ? (size_t)__builtin_ctzll(~word) : 64;
			bit += n < left ? n : left;
			length = 0;
		} else {
			size_t n = word ? (size_t)__builtin_ctzll(word) : left;
			if (!length)
				start = bit;
			length += n;
			bit += n;
		}
		if (length >= count)
			return start;
	}
	return NO_RUN;
}
