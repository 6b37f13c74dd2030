/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}
