/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of every size around each bound of copy_bytes(), at every alignment that matters: all bytes are copied, and
 * none beside them is read (AddressSanitizer) or written. COPY_HEADER: ../../copy.h, or one with a mistake in it.
 */
#include <stdlib.h>
#include "../../copy.h"
#include "../test.h"

enum { MOST = 700 };

static __attribute__((noinline)) void copy(void *to, const void *from, size_t size) { copy_bytes(to, from, size); }

/* Both end with their memory, and begin so many bytes behind its beginning. */
static void check(size_t size, size_t to_skew, size_t from_skew)
{
	uint8_t *to = malloc(to_skew + size), *from = malloc(from_skew + size);

	CHECK(to && from);
	for (size_t i = 0; i < from_skew + size; i++)
		from[i] = (uint8_t)(i * 31 + (i >> 8) + 1);
	memset(to, 0xa5, to_skew + size);
	copy(to + to_skew, from + from_skew, size);
	for (size_t i = 0; i < to_skew; i++)
		CHECK(to[i] == 0xa5);
	for (size_t i = 0; i < size; i++)
		CHECK(to[to_skew + i] == (uint8_t)((from_skew + i) * 31 + ((from_skew + i) >> 8) + 1));
	free(to);
	free(from);
}

int main(void)
{
	static const size_t skews[] = { 0, 1, 7, 8, 15, 16 };
	enum { SKEWS = sizeof(skews) / sizeof(skews[0]) };

	for (size_t size = 0; size < MOST; size++)
		for (unsigned i = 0; i < SKEWS * SKEWS; i++)
			check(size, skews[i / SKEWS], skews[i % SKEWS]);
	return 0;
}
