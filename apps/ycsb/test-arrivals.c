/* SPDX-License-Identifier: BSD-2-Clause */
#include "arrivals.h"
#include "test.h"

#include <math.h>

enum { START = 12345, RATE = 3000, COUNT = 300000 };

static const double INTERVAL = 1e9 / RATE;

/* Rounding does not add up: the last of many arrivals is where it belongs, within a nanosecond. */
static void test_even(void)
{
	struct arrivals a;
	uint64_t first, at = 0;

	arrivals_init(&a, START, RATE, true, 7);
	first = arrivals_next(&a);
	CHECK(first >= START && (double)(first - START) < INTERVAL, "%llu", (unsigned long long)first);
	for (int i = 1; i < COUNT; i++) {
		const uint64_t before = i == 1 ? first : at;
		at = arrivals_next(&a);
		CHECK(fabs((double)(at - before) - INTERVAL) <= 1, "%d: %llu", i, (unsigned long long)(at - before));
	}
	CHECK(fabs((double)(at - first) - (COUNT - 1) * INTERVAL) <= 2, "%llu", (unsigned long long)(at - first));
}

/* Two clients of one rate do not arrive at the same moments. */
static void test_phases(void)
{
	struct arrivals one, other;

	arrivals_init(&one, START, RATE, true, 7);
	arrivals_init(&other, START, RATE, true, 8);
	CHECK(arrivals_next(&one) != arrivals_next(&other), "the same phase");
}

/* Intervals of a Poisson process: exponential, so that mean and standard deviation are the same and a share of 1/e is
 * longer than the mean. Limits are five standard errors. */
static void test_poisson(void)
{
	struct arrivals a;
	uint64_t before = START;
	double sum = 0, squares = 0;
	int longer = 0;

	arrivals_init(&a, START, RATE, false, 7);
	for (int i = 0; i < COUNT; i++) {
		const uint64_t at = arrivals_next(&a);
		const double interval = (double)(at - before) / INTERVAL;
		sum += interval;
		squares += interval * interval;
		longer += interval > 1;
		before = at;
	}
	CHECK(fabs(sum / COUNT - 1) < 5 / sqrt(COUNT), "%f", sum / COUNT);
	CHECK(fabs(squares / COUNT - 2) < 5 * sqrt(20.0 / COUNT), "%f", squares / COUNT);
	CHECK(fabs((double)longer / COUNT - exp(-1)) < 5 * sqrt(0.25 / COUNT), "%d", longer);
}

/* A seed gives one schedule, and another one another. */
static void test_seeds(void)
{
	struct arrivals one, same, other;
	int different = 0;

	arrivals_init(&one, START, RATE, false, 7);
	arrivals_init(&same, START, RATE, false, 7);
	arrivals_init(&other, START, RATE, false, 8);
	for (int i = 0; i < 100; i++) {
		const uint64_t at = arrivals_next(&one);
		CHECK(at == arrivals_next(&same), "%d", i);
		different += at != arrivals_next(&other);
	}
	CHECK(different > 90, "%d", different);
}

int main(void)
{
	test_even();
	test_phases();
	test_poisson();
	test_seeds();
	return 0;
}
