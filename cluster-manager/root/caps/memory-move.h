/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that leaves this cluster's allocator, and comes to it (skerry/memory_control.h). */
#pragma once

#include <stdint.h>

/* Returns how many pieces of 2 MiB are free. */
uint32_t memory_free_pieces(void);
/*
 * Gives so many pieces to a cluster, the largest blocks first. Returns how many it has given: fewer where the rest are
 * not free, or on an error, which then is not 0.
 */
uint32_t memory_part_with(uint32_t pieces, uint32_t cluster, int *error);
/* Takes 1 << bits bytes that are parked. Returns 0 or an error. */
int memory_gain(uint64_t base, unsigned bits);
