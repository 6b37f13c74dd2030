/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "record.h"
#include "test.h"

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

int main(void)
{
	test_key();
	for (size_t length = 24; length <= 40; length++)
		test_round_trip(length);
	test_round_trip(100);
	test_round_trip(1000);
	test_damage();
	test_mixture();
	test_age();
	return 0;
}
