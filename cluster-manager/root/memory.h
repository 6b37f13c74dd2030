/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cluster's ordinary memory: a buddy allocator whose blocks are untypeds
 * and whose way to split a block is to retype it into two of half its size.
 *
 * Functions that give slots return the first of consecutive slots of the root
 * CNode, or an error negated.
 */
#pragma once

#include <stdint.h>
#include <skerry/syscall.h>

void memory_init(void);

/* An untyped of 1 << bits bytes. */
int memory_untyped(unsigned bits);
/* Memory that memory_untyped() gave and that was revoked since. */
void memory_return(int untyped, unsigned bits);
/* One object; `size_bits` as in UNTYPED_RETYPE. */
int memory_object(enum skerry_object type, unsigned size_bits);
/* `count` frames of 4 KiB or 2 MiB, not contiguous in general. */
int memory_frames(enum skerry_object type, uint32_t count);
/* 1 << count_bits frames, physically contiguous and aligned. */
int memory_contiguous(enum skerry_object type, unsigned count_bits);

uint64_t memory_total(void);
uint64_t memory_free(void);
