/* SPDX-License-Identifier: BSD-2-Clause */
/* Sleeps so many times for so many microseconds, and says how long that was by its clock and by the time-stamp
 * counter; then the sum, as a metric. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 1;
	long times = atol(argv[1]), ns = 1000 * atol(argv[2]);
	uint64_t all = 0;
	for (long i = 0; i < times; i++) {
		struct timespec pause = { ns / 1000000000, ns % 1000000000 };
		uint64_t clock = now(), counter = __rdtsc();
		if (nanosleep(&pause, NULL))
			return 2;
		counter = __rdtsc() - counter;
		clock = now() - clock;
		all += clock;
		printf("slept: clock %llu counter %llu\n", (unsigned long long)clock, (unsigned long long)counter);
	}
	printf("skerry-metric: slept %.1f us better=lower\n", (double)all / 1000);
	return 0;
}
