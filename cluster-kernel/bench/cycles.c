/* SPDX-License-Identifier: BSD-2-Clause */
#include "cycles.h"
#include <time.h>

double cycles_per_second(void)
{
	struct timespec from, now;
	double passed;
	clock_gettime(CLOCK_MONOTONIC, &from);
	uint64_t tsc = __builtin_ia32_rdtsc();
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		passed = (double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) * 1e-9;
	} while (passed < 0.05);
	return (double)(__builtin_ia32_rdtsc() - tsc) / passed;
}
