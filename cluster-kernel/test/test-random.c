/* SPDX-License-Identifier: BSD-2-Clause */
/* test-random [seconds [seed [cores]]]: a given seed is run once, and told step by step. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "random.h"

enum { STEPS = 2000, CORES_MAX = 3 };

static char where[80];

static void tell(int signal_number)
{
	(void)!write(STDERR_FILENO, where, strlen(where));
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static unsigned run(uint64_t seed, unsigned cores)
{
	struct source source = { .state = seed * 0x9e3779b97f4a7c15ull + 1 };
	snprintf(where, sizeof(where), "this was seed %llu on %u cores\n", (unsigned long long)seed, cores);
	return random_run(&source, cores, STEPS, seed);
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? atoi(argv[1]) : 3, runs = 0;
	unsigned cores_max = strcmp(REGIME_HEADER, "none.h") ? CORES_MAX : 1;
	unsigned long steps = 0;
	struct timespec start, now;
	signal(SIGABRT, tell);
	signal(SIGSEGV, tell);
	if (argc > 2) {
		random_verbose = true;
		printf("%u steps\n", run(strtoull(argv[2], 0, 0), argc > 3 ? atoi(argv[3]) : 1));
		return 0;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	uint64_t seed = (uint64_t)start.tv_nsec << 20 ^ getpid();
	do {
		steps += run(seed + runs, 1 + runs % cores_max);
		runs++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((unsigned)(now.tv_sec - start.tv_sec) < seconds);
	printf("%u runs, %lu steps, first seed %llu\n", runs, steps, (unsigned long long)seed);
	return 0;
}
