/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers, of one thread each. */
#pragma once

#include <math.h>
#include <stdint.h>

/* xorshift64*; Vigna 2016 */
static inline uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline uint64_t draw_seed(uint64_t seed, unsigned index)
{
	return (seed + 1) * 0x9e3779b97f4a7c15ull ^ (index + 1ull) << 32;
}

/* Exponentially distributed, cycles. */
static inline uint64_t draw_exponential(uint64_t *state, double mean)
{
	double uniform = ((draw(state) >> 11) + 1) * 0x1p-53; /* above 0, up to 1 */
	return (uint64_t)(-mean * log(uniform) + 0.5);
}
