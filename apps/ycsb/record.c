/* SPDX-License-Identifier: BSD-2-Clause */
#include "record.h"

#include <stdio.h>
#include <string.h>

#include "generator.h"

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

size_t record_key(char key[KEY_SIZE], uint64_t record)
{
	return (size_t)snprintf(key, KEY_SIZE, "user%llu", (unsigned long long)ycsb_hash(record));
}

static struct random stream(uint64_t record, unsigned field, uint64_t stamp)
{
	return (struct random){ random_mix(random_mix(record + 1) + field) ^ stamp };
}

/* Eight characters from '0' to 'o'. */
static uint64_t printable(struct random *r)
{
	return (random_next(r) & 0x3f3f3f3f3f3f3f3full) + 0x3030303030303030ull;
}

void record_value(char *value, size_t length, uint64_t record, unsigned field, uint64_t stamp)
{
	struct random r = stream(record, field, stamp);

	for (int i = 0; i < STAMP_DIGITS; i++)
		value[i] = "0123456789abcdef"[stamp >> (60 - 4 * i) & 15];
	for (size_t at = STAMP_DIGITS; at < length; at += 8) {
		uint64_t word = printable(&r);
		memcpy(value + at, &word, length - at < 8 ? length - at : 8);
	}
}

static bool parse_stamp(const char *value, uint64_t *stamp)
{
	*stamp = 0;
	for (int i = 0; i < STAMP_DIGITS; i++) {
		char c = value[i];
		if (c >= '0' && c <= '9')
			*stamp = *stamp << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*stamp = *stamp << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	return true;
}

bool record_check(const char *value, size_t length, size_t expected_length, uint64_t record, unsigned field,
		  uint64_t *stamp)
{
	if (length != expected_length || length < STAMP_DIGITS || !parse_stamp(value, stamp))
		return false;
	struct random r = stream(record, field, *stamp);
	for (size_t at = STAMP_DIGITS; at < length; at += 8) {
		uint64_t word = printable(&r);
		if (memcmp(value + at, &word, length - at < 8 ? length - at : 8) != 0)
			return false;
	}
	return true;
}
