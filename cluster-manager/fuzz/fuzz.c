/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "fuzz.h"

void *fuzz_copy(const uint8_t *data, size_t size)
{
	void *copy = malloc(size == 0 ? 1 : size); /* aligned to 16, and poisoned behind its last byte */

	if (size > 0)
		memcpy(copy, data, size);
	return copy;
}

void replay_tell(const char *path, size_t size)
{
	printf("%s, %lu bytes\n", path, (unsigned long)size);
}
