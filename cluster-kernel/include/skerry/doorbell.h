/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page through which one kernel signals notifications of another. A channel
 * has two such pages, one for each direction.
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
 */
#pragma once

#include <stdint.h>
#include <skerry/boot.h>

enum { DOORBELL_COUNT = 256, DOORBELL_UNBOUND = 0xff };

struct doorbell_line {
	_Alignas(64) _Atomic uint64_t pending[DOORBELL_COUNT / 64];
};

struct doorbell_page {
	_Atomic uint8_t route[DOORBELL_COUNT];
	struct doorbell_line core[BOOT_MAX_CPUS];
};

_Static_assert(sizeof(struct doorbell_page) == 4096, "a doorbell page is one page");
