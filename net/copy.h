/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying a frame. */
#pragma once

#include <stdint.h>

/*
 * Copies `length` bytes rounded up to 16; both buffers have that room
 * (PORT_BUFFER), and do not overlap. By 16-byte words, for `rep movs` costs an
 * emulator, and a real core's microcode at these sizes, more.
 */
static inline void frame_copy(void *to, const void *from, uint32_t length)
{
	typedef uint64_t words __attribute__((vector_size(16), aligned(1), may_alias));
	words *t = to;
	const words *f = from;

	for (uint32_t done = 0; done < length; done += 64, t += 4, f += 4) {
		uint32_t left = length - done;

		t[0] = f[0];
		if (left > 16)
			t[1] = f[1];
		if (left > 32)
			t[2] = f[2];
		if (left > 48)
			t[3] = f[3];
	}
}
