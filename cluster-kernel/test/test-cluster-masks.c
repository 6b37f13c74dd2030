/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cluster masks (skerry/cluster_mask.h) against plain sets, a bit for each core: every mask of an order up to 3 and an
 * offset up to 63; pairs of masks of all orders, drawn.
 */
#include <inttypes.h>
#include <skerry/cluster_mask.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 4, OFFSETS = 64, CORES = OFFSETS + (MASK_BITS << (ORDERS - 1)), WORDS = (CORES + 63) / 64,
       PAIRS = 100000 };

struct set {
	uint64_t word[WORDS];
};

static void check(bool right, const char *what, uint32_t a, uint32_t b)
{
	if (right)
		return;
	printf("%s: masks %#" PRIx32 " and %#" PRIx32 "\n", what, a, b);
	exit(1);
}

static bool set_has(const struct set *set, uint32_t core)
{
	return core < CORES && set->word[core / 64] >> core % 64 & 1;
}
static unsigned set_count(const struct set *set, unsigned cores)
{
	unsigned count = 0;
	for (unsigned i = 0; i < WORDS && i * 64 < cores; i++)
		count += (unsigned)__builtin_popcountll(cores - i * 64 < 64 ? set->word[i] & ((1ull << cores % 64) - 1)
		                                        : set->word[i]);
	return count;
}

/* By the definition in words: 2^order cores for each bit, from core `offset` on. */
static void set_granule(struct set *set, unsigned order, unsigned offset, unsigned bit)
{
	unsigned size = 1;
	for (unsigned i = 0; i < order; i++)
		size *= 2;
	memset(set, 0, sizeof(*set));
	for (unsigned core = offset + bit * size; core < offset + (bit + 1) * size; core++)
		set->word[core / 64] |= 1ull << core % 64;
}

/* One mask: members at both ends of each granule and outside the window, the number of members, whether it is alone. */
static void check_mask(uint32_t mask, const struct set *set, unsigned order, unsigned offset)
{
	for (unsigned core = offset; core < offset + (MASK_BITS << order); core += 1u << order) {
		check(mask_has(mask, core) == set_has(set, core), "mask_has", mask, core);
		check(mask_has(mask, core + (1u << order) - 1) == set_has(set, core + (1u << order) - 1), "mask_has",
		      mask, core);
	}
	check(!mask_has(mask, offset + (MASK_BITS << order)) && (!offset || !mask_has(mask, offset - 1)),
	      "mask_has outside", mask, 0);
	unsigned cores = offset + mask_bitmap(mask) % (MASK_BITS << order), all = set_count(set, CORES);
	check(mask_count(mask, cores) == set_count(set, cores), "mask_count", mask, cores);
	check(mask_count(mask, 1ull << 32) == all, "mask_count of all cores", mask, 0);
	check(mask_least(mask) == (all ? offset + ((unsigned)__builtin_ctz(mask_bitmap(mask)) << order) : 1ull << 32),
	      "mask_least", mask, 0);
	if (all && all < 3) {
		unsigned first = offset + ((unsigned)__builtin_ctz(mask_bitmap(mask)) << order);
		check(mask_only(mask, first) == (all == 1) && !mask_only(mask, first + 1), "mask_only", mask, first);
	}
}

static void every_mask(void)
{
	for (unsigned order = 0; order < ORDERS; order++)
		for (unsigned offset = 0; offset < OFFSETS; offset++) {
			struct set granule[MASK_BITS];
			for (unsigned bit = 0; bit < MASK_BITS; bit++)
				set_granule(&granule[bit], order, offset, bit);
			for (unsigned bitmap = 0; bitmap < 1u << MASK_BITS; bitmap++) {
				if (!(order | offset | bitmap))
					continue; /* MASK_ALL */
				struct set set = { { 0 } };
				for (unsigned bits = bitmap; bits; bits &= bits - 1)
					for (unsigned i = 0; i < WORDS; i++)
						set.word[i] |= granule[__builtin_ctz(bits)].word[i];
				check_mask(order << 26 | offset << 16 | bitmap, &set, order, offset);
			}
		}
	printf("ok every mask\n");
}

/* Every core of a window, and all others nearby. */
static void every_core(void)
{
	for (unsigned order = 0; order < ORDERS; order++)
		for (unsigned offset = 0; offset < OFFSETS; offset++)
			for (unsigned bit = 0; bit < MASK_BITS; bit++) {
				struct set set;
				uint32_t mask = mask_make(order, offset, 1u << bit);
				set_granule(&set, order, offset, bit);
				for (unsigned core = 0; core < CORES; core++)
					check(mask_has(mask, core) == set_has(&set, core), "mask_has", mask, core);
			}
	printf("ok every core\n");
}

static uint64_t seed = 0x9e3779b97f4a7c15;
static uint32_t draw(void)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (uint32_t)(seed >> 32);
}
static uint32_t draw_mask(void)
{
	uint32_t order = draw() % 4 ? draw() % 5 : draw() % 64, offset = draw() % 3 ? draw() % 32 : draw() % 768;
	uint32_t bitmap = draw() & draw() & (draw() % 2 ? draw() : 0xffff);
	return draw() % 64 ? order << 26 | offset << 16 | (bitmap & 0xffff) : MASK_ALL;
}

/* A core at which a mask may change. */
static uint32_t draw_core(uint32_t mask)
{
	uint64_t size = mask_order(mask) < 32 ? 1ull << mask_order(mask) : 1ull << 32;
	return (uint32_t)(mask_offset(mask) + draw() % 17 * size + draw() % 3 - 1);
}

/* Whether a subset is one, asked of every core up to 1,024 and of cores at which one of the two may change. */
static bool covers(uint32_t mask, uint32_t part)
{
	for (uint32_t core = 0; core < 1024; core++)
		if (mask_has(part, core) && !mask_has(mask, core))
			return false;
	for (unsigned i = 0; i < 64; i++) {
		uint32_t core = draw_core(i % 2 ? mask : part);
		if (mask_has(part, core) && !mask_has(mask, core))
			return false;
	}
	return true;
}

static void pairs(void)
{
	for (unsigned i = 0; i < PAIRS; i++) {
		uint32_t a = draw_mask(), b = draw_mask(), both = mask_join(a, b);
		check(covers(both, a) && covers(both, b), "mask_join is no superset", a, b);
		check(mask_covers(both, a) && mask_covers(both, b), "mask_covers of a join", a, b);
		check(mask_join(both, a) == both && mask_join(both, b) == both && mask_join(a, a) == a,
		      "mask_join is not idempotent", a, b);
		check(mask_covers(both, mask_join(b, both)), "mask_join grows without need", a, b);
		check(!mask_covers(a, b) || covers(a, b), "mask_covers what it does not", a, b);
		if (mask_order(a) <= 4 && mask_order(b) <= 4) /* all of their cores are below 1,024 */
			check(mask_covers(a, b) == covers(a, b), "mask_covers", a, b);
	}
	printf("ok pairs\n");
}

/* Cores within 16 of each other: a join is exact. With a distance it has the least order, and no core before the
 * first. */
static void joins_of_cores(void)
{
	for (uint32_t a = 0; a < MASK_OFFSET_MAX; a++)
		for (uint32_t b = a; b <= MASK_EXACT_LAST; b += 1 + (b - a) / 64) {
			uint32_t both = mask_join(mask_of(a), mask_of(b)), order = 0;
			while ((b - a) >> order >= MASK_BITS)
				order++;
			check(mask_order(both) == order && mask_count(both, 1ull << 32) == (a == b ? 1u : 2u << order),
			      "the order of a join", a, b);
			check(!mask_count(both, a) && mask_has(both, a) && mask_has(both, b), "a join of cores", a, b);
		}
	uint32_t some = mask_join(mask_join(mask_of(9), mask_of(2)), mask_of(17));
	check(some == mask_make(0, 2, 1 | 1 << 7 | 1 << 15), "three cores", some, 0);
	printf("ok joins of cores\n");
}

static void borders(void)
{
	for (uint32_t core = 0; core <= MASK_EXACT_LAST; core++)
		check(mask_only(mask_of(core), core) && mask_of(core) != mask_of(core + 1), "mask_of", core, 0);
	check(MASK_EXACT_LAST == 1038 && !mask_only(mask_of(1039), 1039), "the last exact core", mask_of(1039), 0);
	for (unsigned i = 0; i < PAIRS; i++) {
		uint32_t core = draw() >> draw() % 32;
		check(mask_has(mask_of(core), core), "mask_of", core, 0);
	}
	check(mask_has(mask_of(UINT32_MAX), UINT32_MAX), "the last core", 0, 0);
	for (unsigned order = 0; order < 64; order++) { /* all that is behind the offset, from the 28th order on */
		uint32_t mask = mask_make(order, 1023, 0xffff);
		check(mask_has(mask, UINT32_MAX) == (order >= MASK_ORDER_ALL) && !mask_has(mask, 1022), "a large order",
		      mask, 0);
		check(mask_covers(MASK_ALL, mask) && !mask_covers(mask, MASK_ALL), "all cover a large order", mask, 0);
	}
	check(mask_covers(mask_make(63, 0, 1), MASK_ALL) && mask_covers(mask_make(28, 0, 0xffff), MASK_ALL),
	      "all, as a window", 0, 0);
	check(mask_count(MASK_ALL, 60) == 60 && mask_count(MASK_ALL, 1ull << 32) == 1ull << 32, "the number of all", 0,
	      0);
	check(!mask_count(MASK_NONE, 1ull << 32) && !mask_has(MASK_NONE, 1), "the empty set", 0, 0);
	check(mask_join(MASK_NONE, mask_of(7)) == mask_of(7) && mask_join(MASK_NONE, MASK_NONE) == MASK_NONE,
	      "joins of the empty set", 0, 0);
	check(!mask_count(mask_make(63, 3, 2), 1ull << 32), "a granule beyond all cores", 0, 0);
	printf("ok borders\n");
}

int main(void)
{
	every_mask();
	every_core();
	pairs();
	joins_of_cores();
	borders();
	return 0;
}
