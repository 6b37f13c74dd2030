/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Do these processors run at the same time, and what does a cache line cost between them? Without the kernel: what
 * every figure of several cores rests on.
 *
 *     bench-cores cpus=0,1 [window=CYCLES]
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "team.h"

enum {
	SLOT = 20000,       /* cycles: too short for a change of threads to go unnoticed */
	SLOTS_MAX = 100000,
	GAP = 4000,         /* cycles between two looks at the clock, at most, of a thread that runs */
	TRIPS = 100,        /* of a batch */
	BATCHES_MAX = 4000,
};

/* One in each slot of the window for each thread: it ran all through. */
struct presence {
	uint8_t ran[SLOTS_MAX];
};

static void watch_counter(struct member *self)
{
	struct presence *presence = self->state;
	uint64_t start = self->team->start, last = cycles_until(start), now, whole = start;
	for (; last < self->team->end; last = now) {
		now = __builtin_ia32_rdtsc();
		if (now - last > GAP)
			whole = now; /* it was away: not before the next slot */
		uint64_t slot = (last - start) / SLOT, next = (now - start) / SLOT;
		if (next != slot && slot < SLOTS_MAX && whole <= start + slot * SLOT)
			presence->ran[slot] = 1;
	}
}

static bool privileged; /* the host runs them before all others */

/* The part of the window in which all ran. */
static double window_overlap(const struct options *options)
{
	static struct team team;
	struct options longer = *options;
	if (longer.window > (uint64_t)SLOT * SLOTS_MAX)
		longer.window = (uint64_t)SLOT * SLOTS_MAX;
	struct presence *presence = calloc(options->cores, sizeof(*presence));
	unsigned slots = longer.window / SLOT, together = 0;
	if (!presence || !slots) {
		fprintf(stderr, "window: too short, or no memory\n");
		exit(2);
	}
	team_run(&team, &longer, watch_counter, presence, sizeof(*presence));
	privileged = team.privileged == team.count;
	for (unsigned s = 0; s < slots; s++) {
		bool all = true;
		for (unsigned i = 0; i < options->cores; i++)
			all &= presence[i].ran[s];
		together += all;
	}
	free(presence);
	return (double)together / slots;
}

/* A line that two threads hand to each other. */
static struct ball {
	_Alignas(128) _Atomic uint64_t there;
	_Alignas(128) _Atomic uint64_t back;
	_Alignas(128) _Atomic bool over;
	unsigned batches;
	double one_way[BATCHES_MAX]; /* cycles, mean of a batch */
} ball;

static bool ball_serve(uint64_t *number)
{
	for (unsigned i = 0; i < TRIPS; i++) {
		atomic_store_explicit(&ball.there, ++*number, memory_order_release);
		while (atomic_load_explicit(&ball.back, memory_order_acquire) != *number)
			if (atomic_load_explicit(&ball.over, memory_order_relaxed))
				return false;
	}
	return true;
}

static void ball_toss(struct member *self)
{
	uint64_t number = 0;
	if (self->index) { /* gives back what comes */
		while (!atomic_load_explicit(&ball.over, memory_order_relaxed)) {
			uint64_t seen = atomic_load_explicit(&ball.there, memory_order_acquire);
			if (seen != number)
				atomic_store_explicit(&ball.back, number = seen, memory_order_release);
		}
		return;
	}
	while (ball.batches < BATCHES_MAX && __builtin_ia32_rdtsc() < self->team->end) {
		uint64_t from = cycles_begin();
		if (ball_serve(&number))
			ball.one_way[ball.batches++] = (double)(cycles_end() - from) / (2 * TRIPS);
	}
	atomic_store(&ball.over, true);
}

/* Prints what it costs from the first processor to each of the others. */
static void print_transfers(const struct options *options)
{
	static struct team team;
	for (unsigned i = 1; i < options->cores; i++) {
		struct options two = *options;
		two.cores = 2;
		two.cpu[1] = options->cpu[i];
		ball.batches = 0;
		atomic_store(&ball.there, 0);
		atomic_store(&ball.back, 0);
		atomic_store(&ball.over, false);
		team_run(&team, &two, ball_toss, 0, 0);
		quantile_sort(ball.one_way, ball.batches);
		printf("%s{\"from\":%u,\"to\":%u,\"batches\":%u,\"median\":%.1f,\"p10\":%.1f,\"p90\":%.1f}",
		       i > 1 ? "," : "", options->cpu[0], options->cpu[i], ball.batches,
		       quantile(ball.one_way, ball.batches, 0.5),
		       quantile(ball.one_way, ball.batches, 0.1), quantile(ball.one_way, ball.batches, 0.9));
	}
}

int main(int argc, char **argv)
{
	struct options options;
	options_read(&options, argc, argv, 1);
	double together = window_overlap(&options);
	printf("{\"tsc_hz\":%.0f,\"overlap\":%.4f,\"privileged\":%s,\"transfer\":[", cycles_per_second(), together,
	       privileged ? "true" : "false");
	print_transfers(&options);
	printf("]}\n");
	return 0;
}
