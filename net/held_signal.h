/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last signal of a thread that is about to sleep is held, so that it can be made in one system call with the wait
 * (SYS_SIGNAL_WAIT; net_hold_signal() in skerry/posix.h). The caller holds the POSIX layer's lock. Slot 0: none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/require.h>

struct held_signal {
	bool holding;
	bool took_wake; /* a signal that was not held has taken one for this process along */
	uint64_t slot;
};

/* A signal to `slot`. Returns the slot to signal now: this one or, where another is held, that one. */
static inline uint64_t held_signal_add(struct held_signal *held, uint64_t slot)
{
	uint64_t before = held->slot;

	if (!held->holding)
		return slot;
	held->slot = slot;
	return before != slot ? before : 0;
}

static inline void held_signal_begin(struct held_signal *held)
{
	require(!held->slot);
	held->holding = true;
	held->took_wake = false;
}

static inline bool held_signal_took_wake(struct held_signal *held)
{
	const bool took = held->took_wake;

	held->took_wake = false;
	return took;
}

/* Ends the holding. Returns the slot that is held. */
static inline uint64_t held_signal_take(struct held_signal *held)
{
	uint64_t slot = held->slot;

	require(held->holding || !slot);
	*held = (struct held_signal){ 0 };
	return slot;
}
