/* SPDX-License-Identifier: BSD-2-Clause */
#include "exponential.h"

enum { POINT = 32 }; /* bits behind the binary point */

/* log2 of x >= 1, POINT bits behind the point: each squaring of the mantissa gives one bit. */
static uint64_t log2_of(uint64_t x)
{
	unsigned whole = 63 - (unsigned)__builtin_clzll(x);
	uint64_t mantissa = x << (63 - whole); /* 1 .. 2, 63 bits behind the point */
	uint64_t result = whole;
	for (unsigned i = 0; i < POINT; i++) {
		unsigned __int128 square = (unsigned __int128)mantissa * mantissa;
		unsigned above = (unsigned)(square >> 127);
		mantissa = (uint64_t)(square >> (63 + above));
		result = result << 1 | above;
	}
	return result;
}

#define LN_2 2977044472ull /* POINT bits behind the point */

/*
 * The sum of the first k parts, of mean 1, in units of 2^-POINT: the integral
 * of -ln u from 0 to k/n, n times, which is k - k ln(k/n).
 */
static uint64_t first_parts(uint64_t k)
{
	if (!k)
		return 0;
	uint64_t fall = log2_of(EXPONENTIAL_COUNT) - log2_of(k); /* -log2(k/n) */
	return (k << POINT) + (uint64_t)((unsigned __int128)fall * k * LN_2 >> POINT);
}

static uint64_t scaled_mean(uint64_t parts, uint32_t mean)
{
	return (uint64_t)(((unsigned __int128)parts * mean + (1ull << (POINT - 1))) >> POINT);
}

/* Knuth's linear congruential generator (MMIX); its upper bits are good. */
static uint64_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 32;
}

void exponential_fill(uint32_t delays[EXPONENTIAL_COUNT], uint32_t mean, uint64_t seed)
{
	uint64_t before = 0, state = seed;
	for (unsigned k = 0; k < EXPONENTIAL_COUNT; k++) {
		/* the sums are rounded, so that no error adds up */
		uint64_t sum = scaled_mean(first_parts(k + 1), mean);
		delays[k] = (uint32_t)(sum - before);
		before = sum;
	}
	next_number(&state);
	for (unsigned left = EXPONENTIAL_COUNT; left > 1; left--) {
		unsigned chosen = (unsigned)(next_number(&state) * left >> 32);
		uint32_t last = delays[left - 1];
		delays[left - 1] = delays[chosen];
		delays[chosen] = last;
	}
}
