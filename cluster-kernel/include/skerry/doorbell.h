/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page through which one kernel raises notifications in another.
 *
 * A channel has two such pages, one for each direction. The kernel that hears
 * writes `route`: for each of 256 doorbells the core (of the hearing cluster)
 * on which somebody listens, or DOORBELL_UNBOUND. The kernel that rings sets
 * the doorbell's bit in that core's line and interrupts that core. The hearing
 * kernel takes the bits with an atomic exchange; a bit nobody bound is dropped,
 * so that the worst a hostile peer can do is to wake whom it may wake anyway.
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
