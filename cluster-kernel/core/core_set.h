/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of a kernel's cores, by their indices: flat arrays of words, of which a kernel uses as many as its cores need
 * (kernel->core_words). Builds that look for races have fewer cores in a word, so that their few cores cross words.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/boot.h>
#include CHECK_HEADER

/* CORE_SHIFT: log2 of the cores in a word; the build chooses it with the level of assertions (check/) */
enum {
	CORE_SET_BITS = 1 << CORE_SHIFT,
	CORE_SET_MOST = 32, /* words: builds with small ones take fewer cores, so that a thread's set fits its TCB */
	CORE_SET_WORDS = BOOT_MAX_CPUS < CORE_SET_MOST * CORE_SET_BITS
		? (BOOT_MAX_CPUS + CORE_SET_BITS - 1) / CORE_SET_BITS : CORE_SET_MOST,
	/* that a kernel of this build takes */
	CORES_MAX = BOOT_MAX_CPUS < CORE_SET_WORDS * CORE_SET_BITS ? BOOT_MAX_CPUS : CORE_SET_WORDS * CORE_SET_BITS,
};
_Static_assert(CORE_SHIFT <= 6 && CORE_SET_MOST <= 64, "words of 64 bits, and one for a bit of each (remote.h)");

struct core_set {
	uint64_t word[CORE_SET_WORDS];
};

/* The word of a set that has the core's bit. */
static inline uint32_t core_set_index(uint64_t core) { return (uint32_t)(core >> CORE_SHIFT); }
/* The core's bit in that word. */
static inline uint64_t core_set_bit(uint64_t core) { return 1ull << (core & (CORE_SET_BITS - 1)); }
/* The core of the lowest bit of `bits`, which are of word `index`, and not 0. */
static inline uint32_t core_set_lowest(uint32_t index, uint64_t bits)
{
	return index << CORE_SHIFT | (uint32_t)__builtin_ctzll(bits);
}

static inline bool core_set_has(const struct core_set *set, uint64_t core)
{
	return core < CORES_MAX && set->word[core_set_index(core)] & core_set_bit(core);
}
static inline void core_set_add(struct core_set *set, uint64_t core)
{
	set->word[core_set_index(core)] |= core_set_bit(core);
}
static inline void core_set_remove(struct core_set *set, uint64_t core)
{
	set->word[core_set_index(core)] &= ~core_set_bit(core);
}

/* Returns whether every core of `part` is in `whole`. */
static inline bool core_set_within(const struct core_set *part, const struct core_set *whole)
{
	for (unsigned i = 0; i < CORE_SET_WORDS; i++)
		if (part->word[i] & ~whole->word[i])
			return false;
	return true;
}

/* Returns whether the first `words` words have a core. */
static inline bool core_set_any(const struct core_set *set, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (set->word[i])
			return true;
	return false;
}

/* Returns the first core of the set from `core` on, in the first `words` words; words * CORE_SET_BITS if none is. */
static inline uint32_t core_set_next(const struct core_set *set, uint32_t words, uint32_t core)
{
	uint32_t i = core_set_index(core);
	uint64_t bits = i < words ? set->word[i] & ~(core_set_bit(core) - 1) : 0;
	while (!bits && ++i < words)
		bits = set->word[i];
	return bits ? core_set_lowest(i, bits) : words * CORE_SET_BITS;
}
#define FOR_CORES(core, set, words)                                                                \
	for (uint32_t core = core_set_next(set, words, 0); core < (words) * CORE_SET_BITS;         \
	     core = core_set_next(set, words, core + 1))

/* Sets as others know them: word `index` of 64 cores each. Returns false if a core exceeds CORES_MAX. */
static inline bool core_set_put64(struct core_set *set, uint32_t index, uint64_t word)
{
	for (; word; word &= word - 1) {
		const uint64_t core = 64ull * index + (unsigned)__builtin_ctzll(word);
		if (core >= CORES_MAX)
			return false;
		core_set_add(set, core);
	}
	return true;
}
static inline uint64_t core_set_get64(const struct core_set *set, uint32_t index)
{
	uint64_t word = 0;
	for (uint32_t i = 0; i < 64; i += CORE_SET_BITS) {
		const uint32_t from = core_set_index(64ull * index + i);
		if (from < CORE_SET_WORDS)
			word |= set->word[from] << i;
	}
	return word;
}
