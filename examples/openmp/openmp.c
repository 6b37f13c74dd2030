/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fork and join by OpenMP, the twin of examples/forkjoin: each round is a `#pragma omp parallel for` in which each
 * thread does a part of the same work. First one thread does as much alone; the efficiency is its time, divided by the
 * threads' time and their number. The first region, which creates the threads, is a metric of its own.
 * `openmp [STEPS]`: STEPS of each thread in a round. There are OMP_NUM_THREADS threads, or one for each core.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __skerry__
#include <skerry/manager.h>
#else
static int manager_barrier(unsigned number) { return (int)number; }
#endif

enum { MOST = 64, ROUNDS = 10, STEPS = 200000 };

static struct part {
	uint64_t sum;
	char space[56]; /* a cache line each: what is measured is the system, not false sharing */
} part[MOST];

static uint64_t work(uint64_t seed, long count)
{
	while (count-- > 0)
		seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed;
}

int main(int argc, char **argv)
{
	long steps = argc > 1 ? atol(argv[1]) : STEPS;
	int threads = omp_get_max_threads();
	if (threads > MOST || steps < 1) {
		fprintf(stderr, "usage: openmp [STEPS]; OMP_NUM_THREADS is at most %d\n", MOST);
		return 2;
	}

	manager_barrier(1);
	double start = omp_get_wtime();
	uint64_t expected = 0, sum = 0;
	for (int i = 0; i < threads; i++) {
		uint64_t alone = (uint64_t)i;
		for (unsigned round = 0; round < ROUNDS; round++)
			alone = work(alone, steps);
		expected += alone;
	}
	double alone = omp_get_wtime() - start;

	start = omp_get_wtime();
	#pragma omp parallel for schedule(static)
	for (int i = 0; i < threads; i++)
		part[i].sum = (uint64_t)i;
	double creation = omp_get_wtime() - start;

	start = omp_get_wtime();
	for (unsigned round = 0; round < ROUNDS; round++) {
		#pragma omp parallel for schedule(static)
		for (int i = 0; i < threads; i++)
			part[i].sum = work(part[i].sum, steps);
	}
	double together = omp_get_wtime() - start;

	#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < threads; i++)
		sum += part[i].sum;
	manager_barrier(2);

	if (sum != expected) {
		fprintf(stderr, "openmp: the threads' sum is wrong\n");
		return 1;
	}
	printf("skerry-metric: speedup %.3f times\n", alone / together);
	printf("skerry-metric: efficiency %.2f %%\n", 100 * alone / together / threads);
	printf("skerry-metric: round %.1f us better=lower\n", together / ROUNDS * 1e6);
	printf("skerry-metric: creation %.1f us better=lower\n", creation * 1e6);
	return 0;
}
