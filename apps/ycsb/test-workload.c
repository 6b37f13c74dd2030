/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <string.h>

#include "test.h"
#include "workload.h"

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

static void test_key(void)
{
	char key[KEY_SIZE];
	const size_t length = record_key(key, 0);

	CHECK(!strcmp(key, "user6284781860667377211") && length == strlen(key), "%s", key);
	for (uint64_t i = 0; i < 100000; i++)
		CHECK(record_key(key, i) < KEY_SIZE, "%llu", (unsigned long long)i);
}

static void test_round_trip(size_t length)
{
	char value[1001];
	uint64_t stamp;

	for (uint64_t record = 0; record < 50; record++)
		for (unsigned field = 0; field < 10; field++) {
			const uint64_t written = record % 3 ? stamp_make(record % 7 + 1, record * field) : STAMP_LOADED;
			value[length] = '#';
			record_value(value, length, record, field, written);
			CHECK(value[length] == '#', "written beyond %zu bytes", length);
			CHECK(record_check(value, length, length, record, field, &stamp) && stamp == written, "%zu",
			      length);
			CHECK(!record_check(value, length, length, record + 1, field, &stamp), "foreign record");
			CHECK(!record_check(value, length, length, record, field + 1, &stamp), "foreign field");
			CHECK(!record_check(value, length - 1, length, record, field, &stamp), "shortened");
			CHECK(!record_check("", 0, length, record, field, &stamp), "empty");
		}
}

/* Every flipped bit is seen, in the stamp and behind it. */
static void test_damage(void)
{
	enum { LENGTH = 100 };
	char value[LENGTH];
	uint64_t stamp;

	record_value(value, LENGTH, 42, 3, stamp_make(5, 17));
	for (int bit = 0; bit < 8 * LENGTH; bit++) {
		value[bit / 8] ^= (char)(1 << bit % 8);
		CHECK(!record_check(value, LENGTH, LENGTH, 42, 3, &stamp), "bit %d", bit);
		value[bit / 8] ^= (char)(1 << bit % 8);
	}
	CHECK(record_check(value, LENGTH, LENGTH, 42, 3, &stamp), "restored");
}

static void test_mixture(void)
{
	enum { LENGTH = 100 };
	char old[LENGTH], new[LENGTH], mixed[LENGTH];
	uint64_t stamp;

	record_value(old, LENGTH, 1, 0, stamp_make(1, 1));
	record_value(new, LENGTH, 1, 0, stamp_make(2, 1));
	for (size_t cut = STAMP_DIGITS; cut < LENGTH; cut++) {
		memcpy(mixed, new, LENGTH);
		memcpy(mixed + cut, old + cut, LENGTH - cut);
		CHECK(!record_check(mixed, LENGTH, LENGTH, 1, 0, &stamp), "cut at %zu", cut);
	}
}

static void test_age(void)
{
	const uint64_t first = stamp_make(1, 100), second = stamp_make(1, 101), other = stamp_make(2, 5);

	CHECK(stamp_may_follow(STAMP_LOADED, STAMP_UNSEEN) && stamp_may_follow(first, STAMP_UNSEEN), "unseen");
	CHECK(stamp_may_follow(STAMP_LOADED, STAMP_LOADED) && stamp_may_follow(first, STAMP_LOADED), "loaded");
	CHECK(!stamp_may_follow(STAMP_LOADED, first), "the loaded value came back");
	CHECK(stamp_may_follow(second, first) && stamp_may_follow(first, first), "forward");
	CHECK(!stamp_may_follow(first, second), "backward");
	CHECK(stamp_may_follow(other, second) && stamp_may_follow(first, other), "another writer");
}

enum { TIMELINE_START = 12345 };

static uint64_t timeline_sum(const struct timeline *t)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < TIMELINE_SLOTS; i++)
		all += t->count[i];
	return all;
}

static void test_slots(void)
{
	struct timeline t;

	timeline_init(&t, TIMELINE_START);
	timeline_add(&t, TIMELINE_START);
	timeline_add(&t, TIMELINE_START + TIMELINE_SLOT_NS - 1);
	timeline_add(&t, TIMELINE_START + TIMELINE_SLOT_NS);
	timeline_add(&t, TIMELINE_START + (uint64_t)TIMELINE_SLOTS * TIMELINE_SLOT_NS - 1);
	CHECK(t.count[0] == 2 && t.count[1] == 1 && t.count[TIMELINE_SLOTS - 1] == 1, "%u %u", t.count[0], t.count[1]);
	CHECK(t.slot_ns == TIMELINE_SLOT_NS && t.used == TIMELINE_SLOTS, "%u", t.used);
}

/* One answer in each first slot, of a run that is longer and longer: none is lost, and each is where it belongs. */
static void test_longer(void)
{
	struct timeline t;
	const uint64_t first_slots = 100 * TIMELINE_SLOTS;

	timeline_init(&t, TIMELINE_START);
	for (uint64_t i = 0; i < first_slots; i++) {
		timeline_add(&t, TIMELINE_START + i * TIMELINE_SLOT_NS);
		CHECK(timeline_sum(&t) == i + 1, "%llu", (unsigned long long)i);
	}
	CHECK(t.slot_ns == 128ull * TIMELINE_SLOT_NS && t.used == (first_slots + 127) / 128, "%llu %u",
	      (unsigned long long)t.slot_ns, t.used);
	for (unsigned i = 0; i < t.used - 1; i++)
		CHECK(t.count[i] == 128, "%u: %u", i, t.count[i]);
}

/* After a gap that is longer than all slots together. */
static void test_gap(void)
{
	struct timeline t;

	timeline_init(&t, TIMELINE_START);
	timeline_add(&t, TIMELINE_START);
	timeline_add(&t, TIMELINE_START + 1000ull * TIMELINE_SLOTS * TIMELINE_SLOT_NS);
	CHECK(timeline_sum(&t) == 2 && t.count[0] == 1 && t.count[t.used - 1] == 1, "%u", t.used);
	CHECK(t.used > TIMELINE_SLOTS / 4, "%u", t.used);
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
	test_even();
	test_phases();
	test_poisson();
	test_seeds();
	test_key();
	for (size_t length = 24; length <= 40; length++)
		test_round_trip(length);
	test_round_trip(100);
	test_round_trip(1000);
	test_damage();
	test_mixture();
	test_age();
	test_slots();
	test_longer();
	test_gap();
	return 0;
}
