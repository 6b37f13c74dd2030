/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor's clock, which every program may read. */
#pragma once

#include <stdint.h>

/* Halves of 64 bits: RDTSC clears the upper half of both registers, so that none is cleared again here. */
static inline uint64_t read_tsc(void)
{
	uint64_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return high << 32 | low;
}
