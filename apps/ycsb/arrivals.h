/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schedule of an open loop (--rate): when each operation is to arrive, whether the client is ready for it or not. A
 * latency that begins there includes the wait behind operations that were late, which a closed loop leaves out
 * (coordinated omission).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "generator.h"

struct arrivals {
	struct random random;
	uint64_t start_ns;
	double interval_ns; /* the mean */
	double offset_ns;   /* of the last arrival, from start_ns on: no error grows */
	bool even;
};

/* `rate`: a second, above 0. The same `seed` gives the same schedule. Evenly spaced arrivals begin within their first
 * interval, so that those of several clients do not coincide; others are a Poisson process. */
void arrivals_init(struct arrivals *a, uint64_t start_ns, uint64_t rate, bool even, uint64_t seed);

/* Returns the next arrival, on the clock of start_ns. */
uint64_t arrivals_next(struct arrivals *a);
