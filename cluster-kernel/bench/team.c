/* SPDX-License-Identifier: BSD-2-Clause */
#include "team.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cycles.h"

enum { WARM_UP = 1000000 }; /* cycles: caches, branch predictors, the queue at the lock */

void team_pin(unsigned cpu)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	if (sched_setaffinity(0, size, set)) {
		fprintf(stderr, "cpus: processor %u: %s\n", cpu, strerror(errno));
		exit(2);
	}
	CPU_FREE(set);
}

static double clock_seconds(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* All begin at once, released by the last that arrives. They sleep first: a spinning thread of high priority would keep
 * others from arriving. */
static void team_assemble(struct team *team, pthread_barrier_t *gate, uint64_t window)
{
	const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };
	pthread_barrier_wait(gate);
	if (sched_setscheduler(0, SCHED_FIFO, &lowest) == 0)
		team->privileged++;
	if (atomic_fetch_add(&team->arrived, 1) + 1 == team->count) {
		team->start = __builtin_ia32_rdtsc() + WARM_UP;
		team->end = team->start + window;
		atomic_store(&team->opened, window);
	}
	while (!atomic_load(&team->opened))
		__builtin_ia32_pause();
}

struct entrance {
	struct member *member;
	pthread_barrier_t *gate;
	uint64_t window;
};

static void *team_enter(void *argument)
{
	struct entrance *entrance = argument;
	struct member *self = entrance->member;
	team_pin(self->cpu);
	team_assemble(self->team, entrance->gate, entrance->window);
	double wall = clock_seconds(CLOCK_MONOTONIC), own = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
	self->team->run(self);
	own = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - own, wall = clock_seconds(CLOCK_MONOTONIC) - wall;
	self->share = own < wall ? own / wall : 1;
	return 0;
}

void team_run(struct team *team, const struct options *options, void (*run)(struct member *), void *states,
              uint64_t size)
{
	pthread_t thread[TEAM_MAX];
	struct entrance entrance[TEAM_MAX];
	pthread_barrier_t gate;
	*team = (struct team){ .count = options->cores, .run = run };
	pthread_barrier_init(&gate, 0, team->count);
	for (unsigned i = 0; i < team->count; i++) {
		team->member[i] = (struct member){ team, i, options->cpu[i], (char *)states + i * size, 0 };
		entrance[i] = (struct entrance){ &team->member[i], &gate, options->window };
		errno = pthread_create(&thread[i], 0, team_enter, &entrance[i]);
		if (errno) {
			perror("starting a thread");
			exit(1);
		}
	}
	for (unsigned i = 0; i < team->count; i++)
		pthread_join(thread[i], 0);
	pthread_barrier_destroy(&gate);
}

double team_share(const struct team *team)
{
	double least = 1;
	for (unsigned i = 0; i < team->count; i++)
		least = team->member[i].share < least ? team->member[i].share : least;
	return least;
}
