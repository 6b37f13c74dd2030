/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>

#include "generator.h"
#include "test.h"

enum { DRAWS = 400000 };

/* From YCSB itself: record 0's key is user6284781860667377211. */
static void test_hash(void)
{
	CHECK(fnv64(0) == 0xa8c7f832281a39c5ull, "%llx", (unsigned long long)fnv64(0));
	CHECK(ycsb_hash(0) == 6284781860667377211ull, "%llu", (unsigned long long)ycsb_hash(0));
	CHECK(ycsb_hash(1) == 8517097267634966620ull, "%llu", (unsigned long long)ycsb_hash(1));
	CHECK(ycsb_hash(2) == 1820151046732198393ull, "%llu", (unsigned long long)ycsb_hash(2));
	for (uint64_t i = 0; i < 100000; i++)
		CHECK(ycsb_hash(i) >> 63 == 0, "%llu", (unsigned long long)i);
}

/* Pearson's chi-square over 256 bins; 5 standard deviations of its distribution (255 degrees of freedom). */
static void test_uniform(void)
{
	static unsigned bins[256];
	struct random r = { 1 };
	double chi = 0;

	for (int i = 0; i < DRAWS; i++) {
		double u = random_unit(&r);
		CHECK(u >= 0 && u < 1, "%g", u);
		bins[(int)(u * 256)]++;
	}
	for (int i = 0; i < 256; i++)
		chi += pow(bins[i] - DRAWS / 256.0, 2) / (DRAWS / 256.0);
	CHECK(fabs(chi - 255) < 5 * sqrt(2 * 255), "chi-square %g", chi);
}

/* Mean and standard deviation are equal; four standard errors. */
static void test_exponential(void)
{
	const double mean = 2000, error = 4 / sqrt(DRAWS);
	struct random r = { 7 };
	double sum = 0, squares = 0;

	for (int i = 0; i < DRAWS; i++) {
		double x = random_exponential(&r, mean);
		CHECK(x >= 0 && isfinite(x), "%g", x);
		sum += x / mean;
		squares += x / mean * (x / mean);
	}
	CHECK(fabs(sum / DRAWS - 1) < error, "%g", sum / DRAWS);
	CHECK(fabs(squares / DRAWS - 2) < 5 * error, "%g", squares / DRAWS);
}

/* The sum cannot be done term by term; Euler and Maclaurin's formula from the millionth term on is exact enough. */
static void test_zetan(void)
{
	const double n = 1e6, m = 1e10, theta = SCRAMBLED_THETA;
	const double tail = (pow(m, 1 - theta) - pow(n, 1 - theta)) / (1 - theta) +
	             (pow(m, -theta) - pow(n, -theta)) / 2;
	const double zetan = zipfian_zeta(1000000, theta) + tail;

	CHECK(fabs(zetan - SCRAMBLED_ZETAN) < 1e-8, "%.12f", zetan);
}

/* Gray's method is exact for the two first ranks and within a percent for how many draws are at most any rank. */
static void test_zipfian(uint64_t items, double theta)
{
	const double zetan = zipfian_zeta(items, theta);
	struct zipfian z;
	struct random r = { items };
	unsigned *count = calloc(items, sizeof(*count));
	double theory = 0, seen = 0, farthest = 0;

	zipfian_init(&z, items, theta, zetan);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t rank = zipfian_rank(&z, random_unit(&r));
		CHECK(rank < items, "%llu", (unsigned long long)rank);
		count[rank]++;
	}
	for (uint64_t i = 0; i < items; i++) {
		const double p = pow((double)(i + 1), -theta) / zetan;
		const double sigma = sqrt(DRAWS * p * (1 - p));
		if (i < 2)
			CHECK(fabs(count[i] - DRAWS * p) < 5 * sigma, "rank %d: %u, expected %g", (int)i, count[i],
			      DRAWS * p);
		theory += p;
		seen += (double)count[i] / DRAWS;
		farthest = fmax(farthest, fabs(theory - seen));
	}
	CHECK(farthest < 0.02, "%llu items: distribution off by %g", (unsigned long long)items, farthest);
	CHECK(zipfian_rank(&z, 0) == 0 && zipfian_rank(&z, 1 - 0x1p-53) == items - 1, "ends");
	free(count);
}

/* The most popular record is where the hash of rank 0 puts it, with its theoretical share. */
static void test_scrambled(void)
{
	enum { RECORDS = 10000 };
	static unsigned count[RECORDS];
	struct zipfian z;
	struct random r = { 7 };
	uint64_t touched = 0;

	scrambled_init(&z);
	for (int i = 0; i < DRAWS; i++)
		count[scrambled_record(&z, &r, RECORDS)]++;
	for (int rank = 0; rank < 2; rank++) {
		/* its own share, and of the far tail what any record has */
		const double p = (rank ? pow(0.5, SCRAMBLED_THETA) : 1) / SCRAMBLED_ZETAN + 0.6 / RECORDS;
		const double sigma = sqrt(DRAWS * p * (1 - p));
		const unsigned n = count[ycsb_hash((uint64_t)rank) % RECORDS];
		CHECK(fabs(n - DRAWS * p) < 5 * sigma + DRAWS * 0.4 / RECORDS, "rank %d: %u, expected %g", rank, n,
		      DRAWS * p);
	}
	for (int i = 0; i < RECORDS; i++)
		touched += count[i] > 0;
	CHECK(touched > RECORDS * 0.99, "only %llu records touched", (unsigned long long)touched);
}

int main(void)
{
	test_hash();
	test_uniform();
	test_exponential();
	test_zetan();
	test_zipfian(10, 0.99);
	test_zipfian(1000, 0.99);
	test_zipfian(100000, 0.99);
	test_zipfian(1000, 0.5);
	test_scrambled();
	return 0;
}
