/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads, each on a processor of its own, that are measured over the same stretch of time; their clock; and what a
 * benchmark program is told: NAME=NUMBER, and cpus=LIST.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { TEAM_MAX = 60 }; /* cores of one kernel */

struct options {
	unsigned cpu[TEAM_MAX]; /* of the host, one for each thread */
	unsigned cores;
	uint64_t rounds;  /* repetitions of what is measured alone */
	uint64_t window;  /* cycles for which threads are measured together */
	uint64_t delay;   /* mean cycles from leaving the kernel to entering it */
	uint64_t section; /* cycles with the lock */
	uint64_t lines;   /* cache lines shared by all, written in the section */
	uint64_t nap;     /* microseconds asleep in the section: threads that are not excluded enter then */
	uint64_t exclusive;   /* each n-th entry has the kernel to itself; 0: none */
	uint64_t unlocked;    /* 1: many cores in one kernel under `none` */
	uint64_t irrevocable; /* 1: the section says so (core/lock.h) */
	uint64_t seed;
};

/* From argv[first] on; anything else ends the program with status 2. */
void options_read(struct options *options, int argc, char **argv, int first);

/* Time: the time-stamp counter's cycles, which are the same on all cores and need not be the core's own. */

/*
 * Around what is measured: nothing of it begins before the one, or ends after the other (Intel SDM volume 2, RDTSC and
 * RDTSCP).
 */
static inline uint64_t cycles_begin(void)
{
	__builtin_ia32_lfence();
	uint64_t now = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return now;
}

static inline uint64_t cycles_end(void)
{
	unsigned processor;
	uint64_t now = __builtin_ia32_rdtscp(&processor);
	__builtin_ia32_lfence();
	return now;
}

/* Waits, busily, and returns when it did. */
static inline uint64_t cycles_until(uint64_t then)
{
	uint64_t now;
	while ((now = __builtin_ia32_rdtsc()) < then)
		;
	return now;
}

/* The counter's rate, measured against CLOCK_MONOTONIC for 50 ms. */
double cycles_per_second(void);

struct team;

struct member {
	struct team *team;
	unsigned index, cpu;
	void *state;  /* of the thread that runs it */
	double share; /* of its time that the host let it run */
};

struct team {
	unsigned count;
	void (*run)(struct member *self); /* until `end` */
	uint64_t start, end;              /* TSC: what happens between counts; set before anybody runs */
	_Atomic unsigned arrived, privileged; /* how many the host runs before all others */
	_Atomic uint64_t opened;
	struct member member[TEAM_MAX];
};

/*
 * At real-time priority where the host allows it: other work would stop a core for milliseconds in the middle.
 * Each state is one of `count`, `size` bytes apart. A processor that is not there ends the program with status 2.
 */
void team_run(struct team *team, const struct options *options, void (*run)(struct member *), void *states,
              uint64_t size);
/* The least share that anybody had. */
double team_share(const struct team *team);
/* This thread runs there from now on. */
void team_pin(unsigned cpu);

/* Random numbers, of one thread each, and quantiles. */

/* xorshift64*; Vigna 2016 */
static inline uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline uint64_t draw_seed(uint64_t seed, unsigned index)
{
	return (seed + 1) * 0x9e3779b97f4a7c15ull ^ (index + 1ull) << 32;
}

/* Exponentially distributed, cycles. */
static inline uint64_t draw_exponential(uint64_t *state, double mean)
{
	double uniform = ((draw(state) >> 11) + 1) * 0x1p-53; /* above 0, up to 1 */
	return (uint64_t)(-mean * log(uniform) + 0.5);
}

static inline int quantile_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static inline void quantile_sort(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), quantile_order);
}

/*
 * Of sorted values: the mean of all but the hundredth that interrupts made long. Finer than a median where the clock's
 * steps are coarse, as they begin anywhere.
 */
static inline double quantile_mean(const double *sorted, size_t count)
{
	double sum = 0;
	size_t taken = count - count / 100;
	for (size_t i = 0; i < taken; i++)
		sum += sorted[i];
	return taken ? sum / (double)taken : 0;
}

/* Of sorted values: that below which the part `q` of them lies; 0 of none. */
static inline double quantile(const double *sorted, size_t count, double q)
{
	return count ? sorted[(size_t)(q * (double)(count - 1) + 0.5)] : 0;
}
