/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two threads that wake each other, and how often they do: a program that enters the kernel all the time. It prints
 * metrics for `skerry compare`. Plain POSIX, but for the two barriers at which all programs meet.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef __skerry__
#include <skerry/manager.h>
#else
static int manager_barrier(unsigned number) { return (int)number; }
#endif

enum { ROUNDS = 200, WARM = 20 };

static sem_t ping, pong;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *answer(void *rounds)
{
	for (long left = *(long *)rounds; left > 0; left--) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return NULL;
}

/* Returns the seconds of the longest round. */
static double wake(long rounds)
{
	double longest = 0, last = now();
	while (rounds-- > 0) {
		sem_post(&ping);
		sem_wait(&pong);
		double time = now();
		longest = time - last > longest ? time - last : longest;
		last = time;
	}
	return longest;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : ROUNDS, all = WARM + rounds;
	pthread_t other;

	if (rounds <= 0 || sem_init(&ping, 0, 0) || sem_init(&pong, 0, 0) ||
	    pthread_create(&other, NULL, answer, &all)) {
		fprintf(stderr, "usage: wakeups [ROUNDS]\n");
		return 2;
	}
	wake(WARM);
	manager_barrier(1); /* all programs are there: what is measured begins */
	double begin = now(), longest = wake(rounds), seconds = now() - begin;
	manager_barrier(2); /* it has ended */
	printf("skerry-metric: wakeups %.0f wakeups/s\n", 2 * (double)rounds / seconds);
	printf("skerry-metric: longest_round %.1f us better=lower\n", 1e6 * longest);
	return pthread_join(other, NULL);
}
