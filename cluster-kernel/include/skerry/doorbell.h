/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pages through which one kernel signals notifications of another. A channel
 * has two such areas, one for each direction, each as large as the receiver's
 * room for cores wants it.
 *
 * The receiving kernel writes `route`: for each of 256 doorbells the core of its
 * cluster that receives it, or DOORBELL_UNBOUND. The sending kernel sets the
 * doorbell's bit in that core's line, by an atomic or. If the bit was clear, it
 * interrupts that core. The receiving core takes a whole word of bits by an
 * atomic exchange. No wake-up is lost: a bit that is set before the exchange is
 * taken by it, and one that is set later was clear, so that another interrupt
 * follows.
 *
 * The receiver drops bits of unbound doorbells. A hostile peer can therefore
 * signal only notifications that are bound, which it may signal anyway.
 *
 * Two machines may run different versions of Skerry: CHANNEL_VERSION (skerry/channel.h) is raised with any change here.
 */
#pragma once

#include <stdint.h>
#include <skerry/boot.h>

enum { DOORBELL_COUNT = 256, DOORBELL_UNBOUND = 0xffff };

struct doorbell_line {
	_Alignas(64) _Atomic uint64_t pending[DOORBELL_COUNT / 64];
};

struct doorbell_area {
	_Atomic uint16_t route[DOORBELL_COUNT];
	struct doorbell_line core[]; /* of each core that the receiver has room for */
};
_Static_assert(sizeof(struct doorbell_area) % 64 == 0, "each core has a cache line to itself");
_Static_assert((int)BOOT_MAX_CPUS < (int)DOORBELL_UNBOUND, "a number for each core");

/* Returns the bytes of an area of a receiver with room for `cores` cores, in whole pages. */
static inline uint64_t doorbell_area_size(uint32_t cores)
{
	return (sizeof(struct doorbell_area) + cores * sizeof(struct doorbell_line) + 4095) & ~4095ull;
}
