/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records (stat.h) as managers send them and programs read them: the record as
 * it is, without the words that are 0.
 *
 *     word 0         STAT_LAYOUT of the sender: version and size of the record
 *     words 1 to 8   bit i: word i of the record follows
 *     the rest       those words, in their order
 *
 * A brief one has no histograms. Counters that stat.h gets are in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <skerry/stat.h>

enum {
	STAT_PACK_WORDS = sizeof(struct core_stat) / 8,
	STAT_PACK_HEAD = 1 + STAT_PACK_WORDS / 64,
	STAT_PACK_LOCKS = offsetof(struct core_stat, lock) / 8, /* the first word of those */
	STAT_PACK_LOCK = sizeof(struct lock_stat) / 8,
	STAT_PACK_LOCK_BRIEF = offsetof(struct lock_stat, wait_log2) / 8, /* words of a lock before its histograms */
	/* The most words that a packed record has. */
	STAT_PACKED_MAX = STAT_PACK_HEAD + STAT_PACK_WORDS,
	STAT_PACKED_BRIEF_MAX = STAT_PACK_HEAD + STAT_PACK_LOCKS + LOCK_CLASSES * STAT_PACK_LOCK_BRIEF,
};

/* Returns whether a brief record has word `i`. */
static inline bool stat_is_brief(unsigned i)
{
	return i < STAT_PACK_LOCKS ||
	       (i < STAT_PACK_LOCKS + LOCK_CLASSES * STAT_PACK_LOCK &&
	        (i - STAT_PACK_LOCKS) % STAT_PACK_LOCK < STAT_PACK_LOCK_BRIEF);
}

/* Packs a record that nothing writes meanwhile. Returns the words of `to` that it took. */
static inline unsigned stat_pack(uint64_t *to, const struct core_stat *from, bool brief)
{
	const uint64_t *word = (const uint64_t *)from;
	unsigned used = STAT_PACK_HEAD;
	to[0] = STAT_LAYOUT;
	for (unsigned i = 1; i < STAT_PACK_HEAD; i++)
		to[i] = 0;
	for (unsigned i = 0; i < STAT_PACK_WORDS; i++) {
		if (!word[i] || (brief && !stat_is_brief(i)))
			continue;
		to[1 + i / 64] |= 1ull << i % 64;
		to[used++] = word[i];
	}
	return used;
}

/* Unpacks `words` words from an untrusted sender. Returns null, or the sender's error; *to is undefined then. */
static inline const char *stat_unpack(struct core_stat *to, const uint64_t *from, size_t words, bool brief)
{
	uint64_t *word = (uint64_t *)to;
	size_t used = STAT_PACK_HEAD;
	if (words < STAT_PACK_HEAD)
		return "sent a record of counters without its head";
	if (from[0] != STAT_LAYOUT)
		return "sent a record of counters of another version";
	for (unsigned i = 0; i < STAT_PACK_WORDS; i++) {
		word[i] = 0;
		if (!(from[1 + i / 64] >> i % 64 & 1))
			continue;
		if (brief && !stat_is_brief(i))
			return "sent a brief record of counters with a histogram";
		if (used == words)
			return "sent a record of counters that is cut off";
		word[i] = from[used++];
	}
	return used == words ? NULL : "sent a record of counters with words behind it";
}
