/* SPDX-License-Identifier: BSD-2-Clause */
/* The delays of `bench scale`: mean, spread, quantiles, order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exponential.h"

#define CHECK(condition) \
	((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

enum { N = EXPONENTIAL_COUNT };

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static double mean_of(const uint32_t *delays, double power)
{
	double sum = 0;
	for (unsigned i = 0; i < N; i++)
		sum += pow(delays[i], power);
	return sum / N;
}

static void moments(uint32_t mean)
{
	uint32_t delays[N];
	exponential_fill(delays, mean, 1);
	CHECK(fabs(mean_of(delays, 1) - mean) < 1.0 / N);
	double variance = mean_of(delays, 2) - (double)mean * mean;
	CHECK(fabs(sqrt(variance) / mean - 1) < 0.02 + 1.0 / mean);
}

static void quantiles(uint32_t mean)
{
	uint32_t delays[N];
	exponential_fill(delays, mean, 7);
	qsort(delays, N, sizeof(delays[0]), compare);
	for (unsigned i = 0; i < N; i++) { /* each part's mean lies within it */
		double least = -log(1 - i / (double)N) * mean,
		       most = i + 1 < N ? -log(1 - (i + 1) / (double)N) * mean : INFINITY;
		CHECK(delays[i] >= least - 1 && delays[i] <= most + 1);
	}
}

/* Neighbours know nothing of each other; another seed is another order. */
static void order(void)
{
	uint32_t first[N], second[N];
	exponential_fill(first, 4000, 1);
	exponential_fill(second, 4000, 1);
	CHECK(!memcmp(first, second, sizeof(first)));
	exponential_fill(second, 4000, 2);
	CHECK(memcmp(first, second, sizeof(first)));
	for (unsigned far = 0; far < 3; far++) {
		double products = 0;
		for (unsigned i = 0; i < N; i++)
			products += (first[i] - 4000.0) * ((far ? first : second)[(i + far) % N] - 4000.0);
		CHECK(fabs(products / N / (4000.0 * 4000.0)) < 0.45); /* 5 standard deviations */
	}
}

int main(void)
{
	static const uint32_t means[] = { 1, 31, 250, 500, 4000, 32000, 500000000 };
	for (unsigned i = 0; i < sizeof(means) / sizeof(means[0]); i++) {
		moments(means[i]);
		quantiles(means[i]);
	}
	order();
	uint32_t none[N];
	exponential_fill(none, 0, 1);
	for (unsigned i = 0; i < N; i++)
		CHECK(none[i] == 0);
	return 0;
}
