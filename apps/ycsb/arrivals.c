/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload.h"

void arrivals_init(struct arrivals *a, uint64_t start_ns, uint64_t rate, bool even, uint64_t seed)
{
	*a = (struct arrivals){
		.random = { seed }, .start_ns = start_ns, .interval_ns = 1e9 / (double)rate, .even = even,
	};
	if (even)
		a->offset_ns = (random_unit(&a->random) - 1) * a->interval_ns;
}

uint64_t arrivals_next(struct arrivals *a)
{
	a->offset_ns += a->even ? a->interval_ns : random_exponential(&a->random, a->interval_ns);
	return a->start_ns + (uint64_t)a->offset_ns;
}
