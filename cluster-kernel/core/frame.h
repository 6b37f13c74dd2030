/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames: 4 KiB, 2 MiB or 1 GiB of memory that can be mapped. */
#pragma once

#include "cap.h"

/* log2 of the size of a frame type */
/*@ requires OBJECT_FRAME_4K <= type <= OBJECT_FRAME_1G;
  @ assigns \nothing;
  @ ensures \result == 12 || \result == 21 || \result == 30; */
static inline unsigned frame_bits(unsigned type)
{
	kernel_assert(type >= OBJECT_FRAME_4K && type <= OBJECT_FRAME_1G);
	return 12 + 9 * (type - OBJECT_FRAME_4K);
}
/* the level of page table whose entries map it */
static inline unsigned frame_level(const struct cap *cap)
{
	kernel_assert(cap->type >= OBJECT_FRAME_4K && cap->type <= OBJECT_FRAME_1G);
	return cap->type - OBJECT_FRAME_4K;
}

/* Readers may map, unmap and protect, guard.h. */
uint64_t invoke_frame(struct cpu *cpu, struct slot *slot, uint64_t info);
