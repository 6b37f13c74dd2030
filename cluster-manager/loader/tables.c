/* SPDX-License-Identifier: BSD-2-Clause */
/* Building a cluster's kernel page table in the cluster's own memory. */
#include <string.h>

#include "loader.h"

#define PRESENT    1ul
#define WRITE      2ul
#define LARGE      0x80ul
#define PAT_SMALL  0x80ul
#define PAT_LARGE  0x1000ul
#define NO_EXECUTE (1ul << 63)
#define ADDRESS    0x000ffffffffff000ul

uint64_t tables_bound(const struct ranges *direct, uint64_t image_size, uint32_t cores, uint32_t areas,
                      uint64_t screen)
{
	require(image_size % PAGE_SIZE == 0 && screen % PAGE_SIZE == 0);
	uint64_t pages = 1 + 1 + 4;                          /* PML4; the first 4 GiB */
	pages += 1 + 2 + image_size / LARGE_PAGE_SIZE + 2;   /* the image: PDPT, page directories, page tables */
	pages += cores * (uint64_t)KERNEL_STACKS_STRIDE / LARGE_PAGE_SIZE + 1; /* stacks: page tables */
	pages += 5ul * areas; /* each may lie across two page tables, and two directories */
	pages += screen == 0 ? 0 : 1 + 2 + screen / LARGE_PAGE_SIZE + 2;

	for (uint32_t i = 0; i < direct->count; i++) {
		uint64_t first = direct->at[i].base, last = first + direct->at[i].size - 1;

		pages += (last >> 39) - (first >> 39) + 1; /* PDPTs */
		pages += (last >> 30) - (first >> 30) + 1; /* page directories */
		pages += 2;                                /* page tables of ragged ends */
	}
	return pages;
}

static uint64_t *new_table(struct tables *t)
{
	uint64_t *table;

	require(t->used <= t->limit);
	if (t->used == t->limit)
		panic("out of room for page tables"); /* tables_bound was wrong */
	table = (uint64_t *)(t->base + t->used++ * PAGE_SIZE);
	memset(table, 0, PAGE_SIZE);
	return table;
}

void tables_init(struct tables *t, uint64_t base, uint64_t pages)
{
	require(base % PAGE_SIZE == 0 && pages);
	*t = (struct tables){ base, 0, pages };
	new_table(t);
}

/* The entry for vaddr at `level` (1: 4 KiB pages, 2: 2 MiB pages); makes what is missing above it. */
static uint64_t *entry_for(struct tables *t, uint64_t vaddr, unsigned level)
{
	uint64_t *table = (uint64_t *)t->base;

	for (unsigned l = 4;; l--) {
		uint64_t *entry = &table[vaddr >> (12 + 9 * (l - 1)) & 511];

		if (l == level)
			return entry;
		require(!(*entry & LARGE));
		if (!(*entry & PRESENT))
			*entry = (uint64_t)new_table(t) | PRESENT | WRITE;
		table = (uint64_t *)(*entry & ADDRESS);
	}
}

void tables_reach(struct tables *t, uint64_t vaddr, uint64_t size)
{
	require(vaddr <= UINT64_MAX - size);
	const uint64_t directory = LARGE_PAGE_SIZE * 512ul;

	for (uint64_t at = vaddr & ~(directory - 1); at < vaddr + size; at += directory)
		entry_for(t, at, 2);
}

void tables_forget(struct tables *t, uint64_t vaddr) { *entry_for(t, vaddr, 2) = 0; }

void tables_map(struct tables *t, uint64_t vaddr, uint64_t paddr, uint64_t size, uint32_t rights)
{
	require(((vaddr | paddr | size) & (PAGE_SIZE - 1)) == 0);
	uint64_t bits = PRESENT | (rights & MAP_WRITE ? WRITE : 0) | (rights & MAP_EXECUTE ? 0 : NO_EXECUTE);

	while (size > 0) {
		bool large = ((vaddr | paddr) & (LARGE_PAGE_SIZE - 1)) == 0 && size >= LARGE_PAGE_SIZE;
		uint64_t step = large ? LARGE_PAGE_SIZE : PAGE_SIZE;

		uint64_t combine = !(rights & MAP_COMBINE) ? 0 : large ? PAT_LARGE : PAT_SMALL;

		*entry_for(t, vaddr, large ? 2 : 1) = paddr | bits | combine | (large ? LARGE : 0);
		vaddr += step;
		paddr += step;
		size -= step;
	}
}
