/* SPDX-License-Identifier: BSD-2-Clause */
/* Moments of the event queue, in UNITs of a cycle, as nanoseconds of QEMU's clocks and as the time-stamp counter. */
#pragma once

#include "prices.h"

__extension__ typedef unsigned __int128 wide_moment;

enum { NS_PER_MS = 1000000 };

static inline uint64_t moment_ns(uint64_t moment, uint64_t khz)
{
	return (uint64_t)((wide_moment)moment * NS_PER_MS / (khz * UNIT));
}
/* The first moment at which that many nanoseconds have passed: moment_ns of it is `ns`. */
static inline uint64_t moment_from_ns(uint64_t ns, uint64_t khz)
{
	wide_moment found = ((wide_moment)ns * khz * UNIT + NS_PER_MS - 1) / NS_PER_MS;
	return found > UINT64_MAX - 1 ? UINT64_MAX - 1 : (uint64_t)found;
}
static inline uint64_t moment_tsc(uint64_t moment) { return moment / UNIT; }
