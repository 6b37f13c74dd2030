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

static _Noreturn void refuse_argument(const char *argument, const char *reason)
{
	fprintf(stderr, "%s: %s\n", argument, reason);
	exit(2);
}

static void read_cpus(struct options *options, const char *argument, const char *list)
{
	options->cores = 0;
	for (char *end; *list; list = *end ? end + 1 : end) {
		unsigned long cpu = strtoul(list, &end, 10);
		if (end == list || (*end && *end != ',') || options->cores == TEAM_MAX)
			refuse_argument(argument, "not a list of up to 60 processors");
		for (unsigned i = 0; i < options->cores; i++)
			if (options->cpu[i] == cpu)
				refuse_argument(argument, "one processor twice"); /* they would wait for each other */
		options->cpu[options->cores++] = (unsigned)cpu;
	}
	if (!options->cores)
		refuse_argument(argument, "no processors");
}

void options_read(struct options *o, int argc, char **argv, int first)
{
	const struct {
		const char *name;
		uint64_t *value;
	} known[] = {
		{ "rounds=", &o->rounds }, { "window=", &o->window }, { "delay=", &o->delay },
		{ "section=", &o->section },
		{ "lines=", &o->lines }, { "nap=", &o->nap }, { "exclusive=", &o->exclusive },
		{ "unlocked=", &o->unlocked }, { "irrevocable=", &o->irrevocable }, { "seed=", &o->seed },
	};
	*o = (struct options){ .cores = 1, .rounds = 100000, .window = 50000000, .delay = 4000, .section = 300,
	                       .lines = 4 };
	for (int i = first; i < argc; i++) {
		char *end;
		unsigned k = 0;
		if (!strncmp(argv[i], "cpus=", 5)) {
			read_cpus(o, argv[i], argv[i] + 5);
			continue;
		}
		while (k < sizeof(known) / sizeof(known[0]) && strncmp(argv[i], known[k].name, strlen(known[k].name)))
			k++;
		if (k == sizeof(known) / sizeof(known[0]))
			refuse_argument(argv[i], "no such option");
		*known[k].value = strtoull(argv[i] + strlen(known[k].name), &end, 10);
		if (*end || end == argv[i] + strlen(known[k].name))
			refuse_argument(argv[i], "not a number");
	}
	if (!o->rounds || !o->window)
		refuse_argument(o->rounds ? "window=0" : "rounds=0", "nothing to measure");
}

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
