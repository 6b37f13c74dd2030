/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits in all the ways in which a loop with PAUSE goes on by a count, and says how long each of them took; or is the
 * program beside it. Moments are nanoseconds of CLOCK_MONOTONIC.
 *
 *     waits measure TURNS BEGIN END    begins to wait at BEGIN, says how long it took at END
 *     waits works BEGIN END            executes from BEGIN to END
 *     waits exits BEGIN END            ends at BEGIN
 *     waits rests BEGIN END            sleeps until END
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { NS = 1000000000 };

static sem_t to, from;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int turns;
static volatile int never, stored;

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t when)
{
	struct timespec time = { (time_t)(when / NS), (long)(when % NS) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* ---- those of the C library, with a second thread on the same core: it spins until its count is over, and calls the
 * kernel ---- */

static void *second(void *nothing)
{
	for (int i = 0; i < turns; i++) {
		sem_wait(&to);
		sem_post(&from);
	}
	for (int i = 0; i < turns; i++) {
		sem_wait(&to);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		sem_post(&from);
	}
	for (int i = 0; i < turns; i++)
		pthread_barrier_wait(&barrier);
	return nothing;
}

static void wait_semaphore(void)
{
	for (int i = 0; i < turns; i++) {
		sem_post(&to);
		sem_wait(&from);
	}
}

static void wait_mutex(void)
{
	for (int i = 0; i < turns; i++) {
		pthread_mutex_lock(&mutex);
		sem_post(&to);
		sleep_until(now() + 1000); /* the second thread finds it locked */
		pthread_mutex_unlock(&mutex);
		sem_wait(&from);
	}
}

static void wait_barrier(void)
{
	for (int i = 0; i < turns; i++)
		pthread_barrier_wait(&barrier);
}

/* ---- loops of a program's own: their state is in a register, in a vector register, in memory, in the time, in the
 * place ---- */

static void wait_register(void)
{
	for (int i = 100 * turns; i > 0 && !never; i--)
		_mm_pause();
}

static void wait_vector(void)
{
	double left = 100.0 * turns;
	for (; left > 0 && !never; left -= 1.0) {
		_mm_pause();
		__asm__ volatile("" : "+x"(left));
	}
}

static void wait_stored(void)
{
	for (stored = 100 * turns; stored > 0 && !never; stored--)
		_mm_pause();
}

static void wait_time(void)
{
	for (uint64_t end = __rdtsc() + 4000ull * (unsigned)turns; __rdtsc() < end && !never;)
		_mm_pause();
}

static void wait_places(void)
{
	for (int i = 50 * turns; i > 0 && !never; i--) {
		_mm_pause();
		_mm_pause();
	}
}

static const struct {
	const char *name;
	void (*wait)(void);
} ways[] = {
	{ "semaphore", wait_semaphore }, { "mutex", wait_mutex }, { "barrier", wait_barrier },
	{ "register", wait_register },
	{ "vector", wait_vector }, { "stored", wait_stored }, { "time", wait_time }, { "places", wait_places },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static int measure(uint64_t begin, uint64_t end)
{
	pthread_t thread;
	uint64_t took[WAYS];
	sem_init(&to, 0, 0);
	sem_init(&from, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, second, NULL))
		return 1;
	if (now() > begin)
		return 4; /* the boot was not over */
	sleep_until(begin);
	for (unsigned i = 0; i < WAYS; i++) {
		uint64_t since = now();
		ways[i].wait();
		took[i] = now() - since;
	}
	pthread_join(thread, NULL);
	if (now() > end)
		return 2; /* the machine beside it was not there all the time */
	sleep_until(end);
	for (unsigned i = 0; i < WAYS; i++)
		printf("waited: %s %llu ns\n", ways[i].name, (unsigned long long)took[i]);
	return 0;
}

static void work(uint64_t end)
{
	for (uint64_t sum = 1; now() < end;)
		for (int i = 0; i < 10000; i++)
			__asm__ volatile("" : "+r"(sum));
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 3;
	uint64_t begin = strtoull(argv[argc - 2], NULL, 10), end = strtoull(argv[argc - 1], NULL, 10);
	if (!strcmp(argv[1], "measure") && argc == 5) {
		turns = atoi(argv[2]);
		return measure(begin, end);
	}
	sleep_until(begin);
	if (!strcmp(argv[1], "works"))
		work(end);
	else if (!strcmp(argv[1], "rests"))
		sleep_until(end);
	else if (strcmp(argv[1], "exits"))
		return 3;
	return 0;
}
