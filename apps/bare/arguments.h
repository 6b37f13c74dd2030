/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cluster map says to this program: `args` of the application whose program it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern const char program_name[];

/* First of all: priority, output, memory. Returns the map, or null; what is mapped for it lasts. */
const void *experiment_begin(void);

/* Of `map`, a devicetree; null when there is none of this number. */
const char *argument(const void *map, unsigned number);
uint64_t argument_number(const void *map, unsigned number, uint64_t otherwise);
/* Numbers with commas between, into `values`, a 0 behind them; false unless there are 1 to `most` of them, none 0. */
bool argument_list(const void *map, unsigned number, uint32_t *values, unsigned most);
