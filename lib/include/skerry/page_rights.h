/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which pages of a program's heap and stack may not be both read and written: sorted ranges, each with its rights.
 * Pages in no range may be read and written. The manager and the POSIX layer each keep such a list of the same program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/syscall.h>

enum { PAGE_RANGES_MAX = 128, PAGE_RIGHTS_DEFAULT = RIGHT_READ | RIGHT_WRITE };

struct page_range {
	uint64_t first; /* page number: the address / 4096 */
	uint32_t count;
	uint32_t rights; /* RIGHT_*; not PAGE_RIGHTS_DEFAULT */
};

struct page_rights {
	uint32_t count;
	struct page_range at[PAGE_RANGES_MAX];
};

static inline void page_rights_copy(struct page_rights *to, const struct page_rights *from)
{
	to->count = from->count;
	__builtin_memcpy(to->at, from->at, from->count * sizeof(from->at[0]));
}

/* Returns how many ranges end at or below the page. */
static inline uint32_t page_rights_below(const struct page_rights *p, uint64_t page)
{
	uint32_t low = 0, high = p->count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (p->at[middle].first + p->at[middle].count <= page)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the page's rights. *end: the first page behind it that may have others, at most `limit`, which is above the
 * page. */
static inline unsigned page_rights_of(const struct page_rights *p, uint64_t page, uint64_t limit, uint64_t *end)
{
	uint32_t i = page_rights_below(p, page);
	const bool inside = i < p->count && p->at[i].first <= page;
	const uint64_t found = i == p->count ? limit : inside ? p->at[i].first + p->at[i].count : p->at[i].first;
	*end = found < limit ? found : limit;
	return inside ? p->at[i].rights : PAGE_RIGHTS_DEFAULT;
}

/* Returns whether all `count` pages have the same rights. Ranges that touch and have the same rights are one. */
static inline bool page_rights_even(const struct page_rights *p, uint64_t first, uint64_t count)
{
	uint64_t end;
	page_rights_of(p, first, first + count, &end);
	return end == first + count;
}

static inline uint64_t page_range_end(const struct page_range *r) { return r->first + r->count; }

/* Gives the pages, at least one, these rights. Returns false, and changes nothing, where that takes more ranges than
 * there may be. */
static inline bool page_rights_set(struct page_rights *p, uint64_t first, uint64_t count, unsigned rights)
{
	uint64_t start = first, end = first + count;
	uint32_t from = page_rights_below(p, first), to = from, pieces = 0;
	struct page_range piece[3], right = { 0 };
	while (to < p->count && p->at[to].first < end)
		to++;
	if (from < to && page_range_end(&p->at[to - 1]) > end)
		right = (struct page_range){ end, (uint32_t)(page_range_end(&p->at[to - 1]) - end),
		                             p->at[to - 1].rights };
	else if (to < p->count && p->at[to].first == end && p->at[to].rights == rights)
		right = p->at[to++];
	if (right.count && right.rights == rights) {
		end += right.count;
		right.count = 0;
	}
	if (from < to && p->at[from].first < first) {
		if (p->at[from].rights == rights)
			start = p->at[from].first;
		else
			piece[pieces++] = (struct page_range){ p->at[from].first, (uint32_t)(first - p->at[from].first),
			                                       p->at[from].rights };
	} else if (from && page_range_end(&p->at[from - 1]) == first && p->at[from - 1].rights == rights) {
		start = p->at[--from].first;
	}
	if (rights != PAGE_RIGHTS_DEFAULT)
		piece[pieces++] = (struct page_range){ start, (uint32_t)(end - start), rights };
	if (right.count)
		piece[pieces++] = right;
	const uint32_t kept = p->count - (to - from);
	if (kept + pieces > PAGE_RANGES_MAX)
		return false;
	__builtin_memmove(&p->at[from + pieces], &p->at[to], (p->count - to) * sizeof(p->at[0]));
	__builtin_memcpy(&p->at[from], piece, pieces * sizeof(piece[0]));
	p->count = kept + pieces;
	return true;
}
