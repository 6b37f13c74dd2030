/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying frames and streams. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * memcpy() by 16-byte words, with an overlapping last word. `rep movs`, which
 * libraries like, costs an emulator every byte or word of it, and a real core
 * its microcode's start at these sizes. Programs with a C library have AVX for
 * long copies in it (apps/libc/string/copy.c). A source that changes meanwhile,
 * for a peer can write it, gives wrong bytes of `size` bytes, and nothing else.
 */
static inline void copy_bytes(void *to, const void *from, size_t size)
{
	typedef uint64_t word16 __attribute__((vector_size(16), aligned(1), may_alias));
	typedef uint64_t word8 __attribute__((aligned(1), may_alias));
	typedef uint32_t word4 __attribute__((aligned(1), may_alias));
	char *t = to;
	const char *f = from;
	size_t left = size;

	if (__STDC_HOSTED__ && size >= 256) {
		memcpy(to, from, size);
	} else if (size > 32 && size <= 128) { /* most frames: from both ends, without a loop */
		const word16 *first = from, *last = (const word16 *)(f + size);
		word16 *to_first = to, *to_last = (word16 *)(t + size);

		if (size > 64) {
			word16 c = first[2], d = first[3], e = last[-4], g = last[-3];

			to_first[2] = c;
			to_first[3] = d;
			to_last[-4] = e;
			to_last[-3] = g;
		}
		word16 a = first[0], b = first[1], y = last[-2], z = last[-1];

		to_first[0] = a;
		to_first[1] = b;
		to_last[-2] = y;
		to_last[-1] = z;
	} else if (size >= 16) {
		for (; left >= 64; left -= 64, t += 64, f += 64) {
			word16 a = ((const word16 *)f)[0], b = ((const word16 *)f)[1];
			word16 c = ((const word16 *)f)[2], d = ((const word16 *)f)[3];

			((word16 *)t)[0] = a;
			((word16 *)t)[1] = b;
			((word16 *)t)[2] = c;
			((word16 *)t)[3] = d;
		}
		for (; left >= 16; left -= 16, t += 16, f += 16)
			*(word16 *)t = *(const word16 *)f;
		if (left)
			*(word16 *)(t + left - 16) = *(const word16 *)(f + left - 16);
	} else if (size >= 8) {
		*(word8 *)(t + size - 8) = *(const word8 *)(f + size - 8);
		*(word8 *)t = *(const word8 *)f;
	} else if (size >= 4) {
		*(word4 *)(t + size - 4) = *(const word4 *)(f + size - 4);
		*(word4 *)t = *(const word4 *)f;
	} else {
		while (left--)
			*t++ = *f++;
	}
}
