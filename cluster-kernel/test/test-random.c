/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test-random [seconds [seed [cores]]]: a given seed is run once, and told step by step.
 * test-random --threads [calls [seed [cores]]]: so many system calls, by cores that are threads; a given seed is run
 * once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "random.h"
#include "watch.h"

enum { STEPS = 3000, STEP_CORES_MAX = 3, SECONDS = 3 };
enum { THREAD_CALLS = 200000, THREAD_CALLS_RUN = 6000, THREAD_CORES_MAX = 4 };

static char where[80];

static const char *whereabouts(void) { return where; }

static void begin_run(uint64_t seed, unsigned cores)
{
	snprintf(where, sizeof(where), "this was seed %llu on %u cores", (unsigned long long)seed, cores);
}

static unsigned run_steps(uint64_t seed, unsigned cores)
{
	struct records records = records_random(seed);
	begin_run(seed, cores);
	return random_run(&records, cores, STEPS, seed);
}

static uint64_t run_threads(uint64_t seed, unsigned cores)
{
	begin_run(seed, cores);
	return random_threads(cores, THREAD_CALLS_RUN, seed);
}

static uint64_t fresh_seed(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t seed = (uint64_t)now.tv_nsec << 20 ^ getpid();
	printf("first seed %llu\n", (unsigned long long)seed);
	return seed;
}

static void turns(unsigned seconds, unsigned cores_max)
{
	struct timespec start, now;
	unsigned runs = 0;
	unsigned long steps = 0;
	uint64_t seed = fresh_seed();
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		steps += run_steps(seed + runs, 1 + runs % cores_max);
		runs++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((unsigned)(now.tv_sec - start.tv_sec) < seconds);
	printf("%u runs, %lu steps, first seed %llu\n", runs, steps, (unsigned long long)seed);
}

static void threads(uint64_t calls, unsigned cores_max)
{
	uint64_t done = 0, seed = fresh_seed();
	unsigned runs = 0;
	for (; done < calls; runs++) {
		uint64_t made = run_threads(seed + runs, cores_max > 1 ? 2 + runs % (cores_max - 1) : 1);
		if (!made) {
			fprintf(stderr, "seed %llu: a fresh machine makes no calls\n",
			        (unsigned long long)(seed + runs));
			abort();
		}
		done += made;
	}
	printf("%u runs, %llu calls, first seed %llu\n", runs, (unsigned long long)done, (unsigned long long)seed);
}

int main(int argc, char **argv)
{
	bool many = strcmp(REGIME_HEADER, "none.h"), at_once = argc > 1 && !strcmp(argv[1], "--threads");
	argc -= at_once;
	argv += at_once;
	watch(whereabouts);
	if (argc > 2) {
		uint64_t seed = strtoull(argv[2], 0, 0);
		unsigned cores = argc > 3 ? atoi(argv[3]) : 1;
		operation_verbose = !at_once;
		printf("%llu steps\n", (unsigned long long)(at_once ? run_threads(seed, cores) : run_steps(seed, cores)));
	} else if (at_once) {
		threads(argc > 1 ? strtoull(argv[1], 0, 0) : THREAD_CALLS, many ? THREAD_CORES_MAX : 1);
	} else {
		turns(argc > 1 ? atoi(argv[1]) : SECONDS, many ? STEP_CORES_MAX : 1);
	}
	return 0;
}
