/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of malloc() that a program may rely on.
 *
 * Alignment of blocks from malloc(), calloc() and realloc(), in bytes, of more than 8 bytes: 16, as the ABI of x86-64
 * demands. A program may define it as 8 if none of its types needs more: its blocks of 17 to 128 bytes then are
 * multiples of 8 bytes long, in place of 16. aligned_alloc() gives its argument's alignment in either case.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

extern const size_t malloc_alignment; /* 8 or 16 */

/* Blocks of one size, next to each other. */
struct malloc_span {
	size_t size; /* of each block, in bytes; at least what was asked for */
};

/* malloc() itself stores entries of a longer type. */
typedef const struct malloc_span *malloc_span_entry __attribute__((may_alias));

/* The span of each page (4 KiB) of the heap, by address: where the entry of address 0 would stand. */
extern uintptr_t malloc_page_entries;

/*
 * malloc_usable_size() of a block of this malloc() that is in use, in line. A server that accounts for its clients'
 * memory asks a dozen times for a request.
 */
static inline size_t malloc_block_size(const void *block)
{
	return (*(const malloc_span_entry *)(malloc_page_entries + (uintptr_t)block / 4096 * sizeof(void *)))->size;
}
