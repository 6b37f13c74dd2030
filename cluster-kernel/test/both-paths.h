/* SPDX-License-Identifier: BSD-2-Clause */
/* What both tests that compare the paths of SIGNAL_WAIT draw by, and how they compare times. */
#pragma once

#include <stdint.h>
#include "timer.h"

enum { UNIT = 1 << 20 }; /* of time: much longer than what a step reads of the clock */

static uint64_t seed, begun;

static inline unsigned draw(unsigned count)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % count;
}

/* In units since the start; 0 stays 0. Deadlines are in the middle of a unit, slices end where one begins, or a little
 * beside. */
static inline uint64_t units(uint64_t time) { return time ? 1 + (time - begun + UNIT / 4) / UNIT : 0; }
static inline uint64_t length(uint64_t time) { return (time + UNIT / 2) / UNIT; }

/*
 * Whether the core's timer is set for no later than what it must enter for. Both paths may set it for an earlier time,
 * and not for the same: deadlines stay that nobody waits for any more (timer.h).
 */
static inline bool timer_is_set(const struct cpu *cpu, struct thread *const *threads, unsigned count)
{
	const uint64_t armed = cpu->own.timer_armed;
	uint64_t needed = timer_earlier(cpu->own.slice_end, cpu->own.housekeeping_at);
	for (unsigned i = 0; i < count; i++) {
		const struct thread *thread = threads[i];
		const bool leaves = thread->core != thread->next_core;
		if (thread->in_timers && thread->core == cpu->own.index &&
		    (leaves || thread->priority >= timer_lowest(cpu)))
			needed = timer_earlier(needed, thread->deadline);
	}
	return !needed || (armed && armed <= needed);
}
