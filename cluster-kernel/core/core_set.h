/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of a kernel's cores, by their indices. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/boot.h>

enum { CORE_SET_BITS = 64, CORE_SET_WORDS = (BOOT_MAX_CPUS + CORE_SET_BITS - 1) / CORE_SET_BITS };

struct core_set {
	uint64_t word[CORE_SET_WORDS];
};

static inline bool core_set_has(const struct core_set *set, uint64_t core)
{
	return core < BOOT_MAX_CPUS && set->word[core / CORE_SET_BITS] >> core % CORE_SET_BITS & 1;
}

static inline void core_set_add(struct core_set *set, uint64_t core)
{
	set->word[core / CORE_SET_BITS] |= 1ull << core % CORE_SET_BITS;
}

/* Returns whether every core of `part` is in `whole`. */
static inline bool core_set_within(const struct core_set *part, const struct core_set *whole)
{
	for (unsigned i = 0; i < CORE_SET_WORDS; i++)
		if (part->word[i] & ~whole->word[i])
			return false;
	return true;
}
