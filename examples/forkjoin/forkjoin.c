/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fork and join: in each round all threads add up a part of the same work and meet at a barrier, as in a
 * `#pragma omp parallel for`. First one thread does as much alone; the efficiency is its time, divided by the threads'
 * time and their number. Threads are created before, as a pool is; how long that takes is a metric of its own.
 * `forkjoin [THREADS [STEPS]]`: STEPS of each thread in a round; 0 threads: one for each core.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __skerry__
#include <skerry/manager.h>
#else
static int manager_barrier(unsigned number) { return (int)number; }
#endif

enum { MOST = 64, ROUNDS = 10, STEPS = 200000 };

static pthread_barrier_t meeting;
static long steps = STEPS;
static double begin, end; /* of the rounds, as the first thread sees them */
static struct part {
	pthread_t thread;
	uint64_t sum;
	char space[48]; /* a cache line each: what is measured is the system, not false sharing */
} part[MOST];

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t work(uint64_t seed, long count)
{
	while (count-- > 0)
		seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed;
}

static void *run(void *argument)
{
	struct part *own = argument;
	pthread_barrier_wait(&meeting);
	if (own == part)
		begin = now();
	for (unsigned round = 0; round < ROUNDS; round++) {
		own->sum = work(own->sum, steps);
		pthread_barrier_wait(&meeting);
	}
	if (own == part)
		end = now();
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 0;
	if (threads == 0)
		threads = sysconf(_SC_NPROCESSORS_ONLN);
	steps = argc > 2 ? atol(argv[2]) : STEPS;
	if (threads < 1 || threads > MOST || steps < 1) {
		fprintf(stderr, "usage: forkjoin [THREADS (up to %d; 0: one for each core) [STEPS]]\n", MOST);
		return 2;
	}

	manager_barrier(1);
	double start = now();
	uint64_t expected = 0, sum = 0;
	for (long i = 0; i < threads; i++) {
		uint64_t alone = (uint64_t)i;
		for (unsigned round = 0; round < ROUNDS; round++)
			alone = work(alone, steps);
		expected += alone;
	}
	double alone = now() - start;

	if (pthread_barrier_init(&meeting, NULL, (unsigned)threads))
		return 1;
	start = now();
	for (long i = 0; i < threads; i++) {
		part[i].sum = (uint64_t)i;
		if (i && pthread_create(&part[i].thread, NULL, run, &part[i])) {
			fprintf(stderr, "forkjoin: there can be no %ld threads\n", threads);
			return 1;
		}
	}
	run(&part[0]);
	for (long i = 0; i < threads; i++) {
		if (i)
			pthread_join(part[i].thread, NULL);
		sum += part[i].sum;
	}
	double together = end - begin;
	manager_barrier(2);

	if (sum != expected) {
		fprintf(stderr, "forkjoin: the threads' sum is wrong\n");
		return 1;
	}
	printf("skerry-metric: speedup %.3f times\n", alone / together);
	printf("skerry-metric: efficiency %.2f %%\n", 100 * alone / together / (double)threads);
	printf("skerry-metric: round %.1f us better=lower\n", together / ROUNDS * 1e6);
	printf("skerry-metric: creation %.1f us better=lower\n", (begin - start) * 1e6);
	return 0;
}
