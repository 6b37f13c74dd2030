/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers, of one thread each, and quantiles. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

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

static inline int quantile_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static inline void quantile_sort(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), quantile_order);
}

/*
 * Of sorted values: the mean of all but the hundredth that interrupts made long. Finer than a median where the clock's
 * steps are coarse, as they begin anywhere.
 */
static inline double quantile_mean(const double *sorted, size_t count)
{
	double sum = 0;
	size_t taken = count - count / 100;
	for (size_t i = 0; i < taken; i++)
		sum += sorted[i];
	return taken ? sum / (double)taken : 0;
}

/* Of sorted values: that below which the part `q` of them lies; 0 of none. */
static inline double quantile(const double *sorted, size_t count, double q)
{
	return count ? sorted[(size_t)(q * (double)(count - 1) + 0.5)] : 0;
}
