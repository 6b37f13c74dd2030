/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cluster map says to this program: `args` of the application whose program it is. */
#pragma once

#include <stdint.h>

/* Of `map`, a devicetree; null when there is none of this number. */
const char *argument(const void *map, unsigned number);
uint64_t argument_number(const void *map, unsigned number, uint64_t otherwise);
