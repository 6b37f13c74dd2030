/* SPDX-License-Identifier: BSD-2-Clause */
#include <cpuid.h>
#include <stdbool.h>
#include <skerry/stubs.h>
#include "random.h"

static bool rdrand_word(uint64_t *word)
{
	unsigned a, b, c, d;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_RDRND))
		return false;
	for (unsigned tries = 0; tries < 10; tries++) {
		bool good;
		__asm__ volatile("rdrand %0" : "=r"(*word), "=@ccc"(good));
		if (good)
			return true;
	}
	return false;
}

/* The finalizer of SplitMix64 (Steele, Lea and Flood 2014) over the time. */
uint64_t random_word(void)
{
	static uint64_t state;
	uint64_t word = 0;
	state += 0x9e3779b97f4a7c15ull ^ read_tsc();
	rdrand_word(&word);
	word ^= state;
	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
	word = (word ^ word >> 27) * 0x94d049bb133111ebull;
	return word ^ word >> 31;
}
