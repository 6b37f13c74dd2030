/* SPDX-License-Identifier: BSD-2-Clause */
/* Which kernel has which memory in its direct map, and the words by which it moves (skerry/memory_control.h). */
#pragma once

#include <stdint.h>

struct boot_info;

/* A cluster's memory at the beginning of its part, of `size` bytes: its kernel has it mapped. */
void direct_begin(unsigned cluster, uint64_t size);
/* What it has then is nobody's. */
void direct_end(unsigned cluster);
/* The loader's part of boot_info, of a machine that controls others. Caller has called direct_begin(). */
void direct_words(struct boot_info *info);
