/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loader's part of memory that moves (skerry/memory_control.h): the words, which are in no kernel's own memory;
 * what each cluster has at boot; and what it has when it is loaded again.
 *
 * Only memory moves that no cluster used when the clusters were placed, in whole pieces, and only between clusters that
 * can be restarted. So each piece is one entry of its kernel's page table, and nothing that loading writes lies in it.
 */
#include <string.h>

#include <skerry/memory_control.h>

#include "loader.h"

#define PIECE (1ul << MEMORY_PIECE_BITS)
_Static_assert(PIECE == LARGE_PAGE_SIZE, "an entry of a page directory");

static struct memory_control *memory_words; /* NULL: none moves */
static uint64_t control_size, pieces;

/* In the memory of the first cluster that is started again. */
void moves_place(struct cluster *clusters, uint32_t count, const struct machine *m)
{
	const struct boot_range *last = &m->ram.at[m->ram.count - 1];
	uint64_t base;

	for (uint32_t i = 0; i < count && memory_words == NULL; i++) {
		struct cluster *c = &clusters[i];

		if (c->resident == 0)
			continue;
		pieces = (last->base + last->size) / PIECE;
		control_size = memory_control_size(pieces);
		if (!ranges_find(&c->free, &memory_busy, 2 * control_size, PAGE_SIZE, &base)) {
			print("%s: no room for the words by which memory moves (%lu KiB): none does", c->map->name,
			      2 * control_size / 1024);
			return;
		}
		ranges_remove(&c->free, base, 2 * control_size);
		ranges_remove(&c->ram, base, 2 * control_size);
		require(pieces && base % PAGE_SIZE == 0);
		memory_words = memset((void *)base, 0, 2 * control_size);
		memory_words->count = pieces;
	}
}

static bool has_words(const struct cluster *c) { return memory_words != NULL && c->resident != 0; }

uint64_t moves_tables_bound(const struct cluster *c, const struct machine *m)
{
	uint64_t large = 2 * control_size / LARGE_PAGE_SIZE + 2;

	return has_words(c) ? tables_bound(&m->ram, 0, 0, 2, 0) + large : 0;
}

static uint8_t *home_of(uint64_t piece)
{
	require(memory_words && piece < pieces && piece < control_size);
	return (uint8_t *)memory_words + control_size + piece;
}

void moves_begin(struct cluster *clusters, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct cluster *c = &clusters[i];

		ranges_keep_largest(&c->free, BOOT_MAX_RANGES); /* as for boot_info: the rest belongs to no cluster */
		c->home = c->free;
		if (!has_words(c))
			continue;
		c->info->memory_control = (uint64_t)memory_words;
		c->info->memory_size = control_size;
		for (uint32_t j = 0; j < c->home.count; j++) {
			uint64_t end = c->home.at[j].base + c->home.at[j].size;

			for (uint64_t at = round_up(c->home.at[j].base, PIECE); at + PIECE <= end; at += PIECE) {
				atomic_store_explicit(&memory_words->piece[at / PIECE],
				                      memory_byte(MEMORY_OWNED, c->map->number), memory_order_relaxed);
				*home_of(at / PIECE) = (uint8_t)(c->map->number + 1);
			}
		}
	}
}

static bool is_owned(const struct cluster *c, uint64_t piece)
{
	require(memory_words && piece < pieces);
	return memory_read(memory_words, piece) == memory_byte(MEMORY_OWNED, c->map->number);
}

/*
 * No kernel of the cluster runs, so its ownership does not change meanwhile. Memory that is parked for it is taken by
 * its manager when it runs: that goes through the new kernel's checks, and takes no room in boot_info. Memory that has
 * come back is boot memory again.
 */
void moves_again(struct cluster *c)
{
	uint32_t number = c->map->number;

	if (!has_words(c))
		return;
	c->free = c->home;
	for (uint64_t i = 0; i < pieces; i++)
		if (*home_of(i) == number + 1 && !is_owned(c, i))
			ranges_remove(&c->free, i * PIECE, PIECE);
	ranges_keep_largest(&c->free, BOOT_MAX_RANGES);
	for (uint64_t i = 0; i < pieces; i++)
		if (is_owned(c, i) && ranges_common(&c->free, i * PIECE, PIECE) != PIECE)
			memory_give(memory_words, i, number, number);
	memory_changed(memory_words);
}

void moves_map(struct cluster *c, const struct machine *m)
{
	uint64_t words = KERNEL_DIRECT_BASE + (uint64_t)memory_words;

	if (!has_words(c))
		return;
	for (uint32_t i = 0; i < m->ram.count; i++)
		tables_reach(&c->tables, KERNEL_DIRECT_BASE + m->ram.at[i].base, m->ram.at[i].size);
	tables_map(&c->tables, words, (uint64_t)memory_words, control_size, MAP_WRITE);
	tables_map(&c->tables, words + control_size, (uint64_t)memory_words + control_size, control_size, 0);
	for (uint64_t i = 0; i < pieces; i++)
		if (*home_of(i) == c->map->number + 1 && !is_owned(c, i))
			tables_forget(&c->tables, KERNEL_DIRECT_BASE + i * PIECE);
}
