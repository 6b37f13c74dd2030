/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws of a run's salt, which stands for what programs do not choose: addresses, and moments of their starts. Without
 * one, 0, nothing is drawn. */
#pragma once

#include <stdint.h>

/* Returns 64 bits that depend on all bits of both (splitmix64's mixer, Steele 2014). */
static inline uint64_t salt_draw(uint64_t salt, uint64_t of)
{
	uint64_t bits = of * 0x9e3779b97f4a7c15ull + salt * 0xd1342543de82ef95ull + 0x632be59bd9b4e019ull;
	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
	return bits ^ bits >> 31;
}

/* A core has two draws of its own, of its places and of its begin. Those of 64 cores each stand side by side, as
 * results were recorded when there were no more. */
enum { DRAWN_PLACES = 0, DRAWN_BEGIN = 64 };
static inline uint64_t salt_of_core(uint64_t salt, unsigned core, unsigned what)
{
	return salt_draw(salt, core / 64 * 128ull + what + core % 64);
}
