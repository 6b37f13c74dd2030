/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole aligned blocks of memory. */
#pragma once

#include <stdint.h>
#include "assert.h"

static inline void memory_zero_line(uint64_t *word)
{
	word[0] = word[1] = word[2] = word[3] = word[4] = word[5] = word[6] = word[7] = 0;
}

/* `size` is a multiple of 16; unrolled because an emulator pays for every iteration. */
static inline void memory_zero(void *memory, uint64_t size)
{
	kernel_assert(size % 16 == 0 && (uint64_t)memory % 8 == 0);
	uint64_t *word = memory;
	for (; size >= 256; size -= 256, word += 32) {
		memory_zero_line(word);
		memory_zero_line(word + 8);
		memory_zero_line(word + 16);
		memory_zero_line(word + 24);
	}
	for (; size >= 64; size -= 64, word += 8)
		memory_zero_line(word);
	for (; size; size -= 8)
		*word++ = 0;
}
