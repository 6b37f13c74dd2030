/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload.h"

#include <string.h>


uint64_t stamp_make(unsigned writer, uint64_t sequence)
{
	return (uint64_t)writer << WRITER_SHIFT | (sequence & ((1ull << WRITER_SHIFT) - 1));
}

bool stamp_may_follow(uint64_t stamp, uint64_t seen)
{
	if (seen == STAMP_UNSEEN || seen == STAMP_LOADED)
		return true;
	if (stamp == STAMP_LOADED)
		return false;
	return stamp >> WRITER_SHIFT != seen >> WRITER_SHIFT || stamp >= seen;
}

size_t decimal(char *to, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	for (size_t i = at; i < sizeof(digits); i++)
		*to++ = digits[i];
	return sizeof(digits) - at;
}

size_t record_key(char key[KEY_SIZE], uint64_t record)
{
	memcpy(key, "user", 4);
	const size_t length = 4 + decimal(key + 4, ycsb_hash(record));
	key[length] = '\0';
	return length;
}

/* The characters behind the stamp are made of 64-bit numbers, eight of each. The numbers are this far apart;
 * stream_start() gives the first. */
static const uint64_t DISTANCE = 0x9e3779b97f4a7c15ull; /* odd, near 2^64 divided by the golden ratio (Knuth) */

typedef uint64_t pair __attribute__((vector_size(16)));

static uint64_t stream_start(uint64_t record, unsigned field, uint64_t stamp)
{
	return random_mix(random_mix(random_mix(record + 1) + field) ^ stamp);
}

static inline uint64_t stream_next(uint64_t *state) { return *state += DISTANCE; }

/* Each from '0' to 'o'. */
static inline uint64_t printable_word(uint64_t word)
{
	return (word & 0x3f3f3f3f3f3f3f3full) + 0x3030303030303030ull;
}

static inline pair printable_pair(pair words)
{
	return (words & 0x3f3f3f3f3f3f3f3full) + 0x3030303030303030ull;
}

static inline uint64_t load_word(const char *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return word;
}

static inline pair load_pair(const char *from)
{
	pair words;

	memcpy(&words, from, sizeof(words));
	return words;
}

void record_value(char *value, size_t length, uint64_t record, unsigned field, uint64_t stamp)
{
	uint64_t state = stream_start(record, field, stamp);

	for (int i = 0; i < STAMP_DIGITS; i++)
		value[i] = "0123456789abcdef"[stamp >> (60 - 4 * i) & 15];
	for (size_t at = STAMP_DIGITS; at < length; at += 8) {
		uint64_t word = printable_word(stream_next(&state));
		memcpy(value + at, &word, length - at < 8 ? length - at : 8);
	}
}

/*
 * Eight hexadecimal digits at once, one in each byte, the first lowest. The
 * digits are made again from their values: what does not come out the same was
 * no such digit.
 */
static inline bool parse_digits(uint64_t digits, uint64_t *number)
{
	const uint64_t ones = 0x0101010101010101ull;
	uint64_t values = (digits & 0x0f * ones) + 9 * (digits >> 6 & ones);
	uint64_t letters = (values + 6 * ones) >> 4 & ones;

	if (values & 0xf0 * ones || values + '0' * ones + ('a' - '0' - 10) * letters != digits)
		return false;
	values = __builtin_bswap64(values);
	values = (values | values >> 4) & 0x00ff00ff00ff00ffull;
	values = (values | values >> 8) & 0x0000ffff0000ffffull;
	*number = *number << 32 | (uint32_t)(values | values >> 16);
	return true;
}

/* Values that were written together have the same stamp: the last one is remembered. */
static bool parse_stamp(const char *value, uint64_t *stamp)
{
	static uint64_t last_high = UINT64_MAX, last_low, last_stamp; /* at first no text of a stamp */
	const uint64_t high = load_word(value), low = load_word(value + 8);

	if (high != last_high || low != last_low) {
		*stamp = 0;
		if (!parse_digits(high, stamp) || !parse_digits(low, stamp))
			return false;
		last_high = high;
		last_low = low;
		last_stamp = *stamp;
	}
	*stamp = last_stamp;
	return true;
}

/* Bytes behind the last whole word are compared as the upper characters of the word that ends where the value does. */
bool record_check(const char *value, size_t length, size_t expected_length, uint64_t record, unsigned field,
		  uint64_t *stamp)
{
	if (length != expected_length || length < STAMP_DIGITS + 8 || !parse_stamp(value, stamp))
		return false;
	uint64_t state = stream_start(record, field, *stamp), difference;
	const char *at = value + STAMP_DIGITS, *end = value + length;
	pair states = { state + DISTANCE, state + 2 * DISTANCE }, differences = { 0 };

	for (; end - at >= 16; at += 16, state += 2 * DISTANCE, states += 2 * DISTANCE)
		differences |= load_pair(at) ^ printable_pair(states);
	difference = differences[0] | differences[1];
	if (end - at >= 8) {
		difference |= load_word(at) ^ printable_word(stream_next(&state));
		at += 8;
	}
	if (at < end) {
		unsigned missing = 8 * (unsigned)(8 - (end - at));
		difference |= (load_word(end - 8) >> missing ^ printable_word(stream_next(&state))) << missing;
	}
	return !difference;
}
