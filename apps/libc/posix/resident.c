/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of the memory that was given out has been touched. The manager maps
 * it when it is touched, all zero, in steps of many pages (skerry/process.h). So
 * a page of a mapping, or of the first thread's stack, counts from the first
 * look that finds anything but zeroes in it, until it is given back. What is not
 * mapped yet is not looked at: that would map it. Each look ends behind
 * LOOK_PAGES empty ones and the next goes on from there: Redis asks ten times a
 * second, and a touched page costs a look little.
 */
#include <skerry/process.h>
#include "layer.h"
#include "platform.h"

enum { LOOK_PAGES = 16, WORD_PAGES = 64 };

/* Bits of `unseen`: pages in which nothing has been found yet. */
struct region {
	uintptr_t base;
	uint64_t *unseen;
	size_t words, count;
	size_t next; /* page: the next look begins there */
};

static uint64_t stack_unseen[PROCESS_STACK_SIZE / PAGE / WORD_PAGES];
static struct region heap, stack;

_Static_assert(PROCESS_STACK_SIZE % (PAGE * WORD_PAGES) == 0, "whole words of pages");

void resident_start(uintptr_t heap_base, uint64_t *unseen, size_t pages)
{
	heap = (struct region){ .base = heap_base, .unseen = unseen, .words = (pages + WORD_PAGES - 1) / WORD_PAGES };
	if ((uintptr_t)__builtin_frame_address(0) - (PROCESS_STACK_TOP - PROCESS_STACK_SIZE) >= PROCESS_STACK_SIZE)
		return; /* a test's host has put it elsewhere */
	stack = (struct region){ .base = PROCESS_STACK_TOP - PROCESS_STACK_SIZE, .unseen = stack_unseen,
	                         .words = sizeof(stack_unseen) / sizeof(stack_unseen[0]),
	                         .count = PROCESS_STACK_SIZE / PAGE };
	for (size_t i = 0; i < stack.words; i++)
		stack_unseen[i] = ~0ull;
}

void resident_unseen(size_t first, size_t count)
{
	require(first + count <= heap.words * WORD_PAGES);
	for (size_t page = first; page < first + count; page++) {
		heap.count += !(heap.unseen[page / WORD_PAGES] >> page % WORD_PAGES & 1);
		heap.unseen[page / WORD_PAGES] |= 1ull << page % WORD_PAGES;
	}
}

void resident_gone(size_t first, size_t count)
{
	require(first + count <= heap.words * WORD_PAGES && heap.count <= heap.words * WORD_PAGES);
	for (size_t page = first; heap.count && page < first + count; page++) {
		heap.count -= heap.unseen[page / WORD_PAGES] >> page % WORD_PAGES & 1;
		heap.unseen[page / WORD_PAGES] &= ~(1ull << page % WORD_PAGES);
	}
}

static bool stack_holds(uintptr_t address)
{
	const uint64_t *page = (const uint64_t *)address;

	if (!platform_is_touched(address) || (protected_pages.count && !(protection_of(address) & RIGHT_READ)))
		return false;
	for (size_t i = 0; i < PAGE / sizeof(*page); i += 8)
		if (page[i] | page[i + 1] | page[i + 2] | page[i + 3] | page[i + 4] | page[i + 5] | page[i + 6] |
		    page[i + 7])
			return true;
	return false;
}

/*
 * Downwards, as stacks grow, and behind the lowest page from the top again: at most once around. Counts the empty
 * pages on from `empty`, and returns the sum.
 */
static size_t region_scan(struct region *r, size_t empty)
{
	for (size_t left = r->words + 1; left && r->count && empty < LOOK_PAGES; left--) {
		require(r->next / WORD_PAGES < r->words);
		uint64_t *word = &r->unseen[r->next / WORD_PAGES];
		uint64_t bits = *word & ~0ull >> (WORD_PAGES - 1 - r->next % WORD_PAGES);
		while (bits && empty < LOOK_PAGES) {
			const size_t bit = WORD_PAGES - 1 - (size_t)__builtin_clzll(bits);
			r->next = r->next / WORD_PAGES * WORD_PAGES + bit;
			bits &= ~(1ull << bit);
			if (!stack_holds(r->base + r->next * PAGE)) {
				empty++;
				continue;
			}
			*word &= ~(1ull << bit);
			r->count--;
		}
		if (!bits)
			r->next = (r->next / WORD_PAGES ? r->next / WORD_PAGES : r->words) * WORD_PAGES - 1;
		else
			r->next--;
	}
	return empty;
}

size_t resident_untouched(void)
{
	region_scan(&heap, region_scan(&stack, LOOK_PAGES / 2) - LOOK_PAGES / 2);
	return heap.count + stack.count;
}
