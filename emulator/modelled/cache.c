/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache.h"
#include <stdlib.h>
#include <string.h>

void cache_make(struct cache *cache, const struct cache_shape *shape)
{
	require(shape->sets && shape->ways);
	cache->sets = shape->sets;
	cache->mask = shape->sets & (shape->sets - 1) ? 0 : shape->sets - 1;
	cache->ways = (unsigned)shape->ways;
	cache->entry = calloc(shape->sets * shape->ways, sizeof(entry_t));
	if (!cache->entry)
		abort();
}

void cache_free(struct cache *cache) { free(cache->entry); }

static void close_gap(const struct cache *cache, entry_t *set, unsigned way)
{
	require(way < cache->ways);
	memmove(&set[way], &set[way + 1], (cache->ways - 1 - way) * sizeof(*set));
	set[cache->ways - 1] = 0;
}

entry_t cache_fill(struct cache *cache, entry_t entry)
{
	entry_t *set = cache_set(cache, entry_line(entry));
	cache_drop(cache, entry_line(entry));
	entry_t victim = set[cache->ways - 1];
	memmove(&set[1], &set[0], (cache->ways - 1) * sizeof(*set));
	set[0] = entry;
	return victim;
}

bool cache_drop(struct cache *cache, uint64_t line)
{
	entry_t *set = cache_set(cache, line);
	for (unsigned w = 0; w < cache->ways; w++)
		if (set[w] && entry_line(set[w]) == line) {
			close_gap(cache, set, w);
			return true;
		}
	return false;
}

void cache_downgrade(struct cache *cache, uint64_t line)
{
	entry_t *set = cache_set(cache, line);
	for (unsigned w = 0; w < cache->ways; w++)
		if (entry_line(set[w]) == line)
			set[w] &= ~(entry_t)1;
}
