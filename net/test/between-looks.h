/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forced in front of the switch's sources. The switch looks at a full ring twice, for its reader may make room between
 * both looks. Here a test makes it: before the switch asks to be woken by room, and before it compares how full a ring
 * is.
 */
#pragma once

#include "../port_end.h"

extern void (*before_arming)(void), (*before_comparing)(void);

static inline void arm_room_later(struct ring_end *ring)
{
	if (before_arming)
		before_arming();
	ring_arm_room(ring);
}

static inline uint64_t load_later(const _Atomic uint64_t *word, memory_order order)
{
	if (before_comparing)
		before_comparing();
	return atomic_load_explicit(word, order);
}

#define ring_arm_room arm_room_later
#undef atomic_load_explicit
#define atomic_load_explicit load_later
