/* SPDX-License-Identifier: BSD-2-Clause */
/* A set-associative cache of lines with least-recently-used replacement. It holds no data, only which lines are
 * there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/require.h>
#include "prices.h"
#include "salt.h"

/* line << 1 | writable; 0: empty. Line 0 of memory is therefore never cached. */
typedef uint64_t entry_t;

struct cache {
	uint64_t sets, mask; /* mask: sets - 1 if that is a power of two, else 0 */
	unsigned ways;
	uint64_t salt; /* of its page colours; 0: they are the addresses' own */
	entry_t *entry; /* sets x ways, in each set the most recently used first */
};

static inline entry_t entry_of(uint64_t line, bool writable) { return line << 1 | writable; }
static inline uint64_t entry_line(entry_t entry) { return entry >> 1; }
static inline bool entry_writable(entry_t entry) { return entry & 1; }

void cache_make(struct cache *cache, const struct cache_shape *shape);
void cache_free(struct cache *cache);

enum { PAGE_LINES = 64, PAGE_LINE_BITS = 6 };

/* Returns the line with another colour than its address has: lines of one page stay side by side, and pages that are
 * neighbours and have different colours keep different ones. */
static inline uint64_t cache_coloured(const struct cache *cache, uint64_t line)
{
	return line ^ salt_draw(cache->salt, line & ~cache->mask) << PAGE_LINE_BITS;
}
static inline entry_t *cache_set(const struct cache *cache, uint64_t line)
{
	require(cache->entry && cache->sets && cache->ways);
	if (__builtin_expect(cache->salt && cache->mask, 0))
		line = cache_coloured(cache, line);
	return cache->entry + (cache->mask ? line & cache->mask : line % cache->sets) * cache->ways;
}
/* Returns the line's entry, which becomes the most recently used of its set; 0 if it is not there. */
static inline entry_t cache_find(struct cache *cache, uint64_t line)
{
	entry_t *set = cache_set(cache, line), found = set[0];
	if (entry_line(found) == line)
		return found;
	for (unsigned w = 1; w < cache->ways; w++)
		if (entry_line(set[w]) == line) {
			found = set[w];
			for (; w > 0; w--)
				set[w] = set[w - 1];
			return set[0] = found;
		}
	return 0;
}
/* Returns whether the line is there; the order of its set stays as it is. */
static inline bool cache_has(const struct cache *cache, uint64_t line)
{
	const entry_t *set = cache_set(cache, line);
	for (unsigned w = 0; w < cache->ways; w++)
		if (set[w] && entry_line(set[w]) == line)
			return true;
	return false;
}
/* Puts the entry in as the most recently used of its set, in place of what was there of its line. Returns the entry
 * that had to leave, or 0. */
entry_t cache_fill(struct cache *cache, entry_t entry);
/* Removes the line. Returns whether it was there. */
bool cache_drop(struct cache *cache, uint64_t line);
/* The line, if it is there, may only be read from now on. */
void cache_downgrade(struct cache *cache, uint64_t line);
