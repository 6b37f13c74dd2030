/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that want the same lock: each works outside for an exponentially distributed time, enters, writes to lines
 * that all share, and leaves. A counter that nothing but the lock protects proves exclusion. All go for one object, so
 * that a regime which lets many in has its lock to take; or enter exclusively.
 */
#include <stdio.h>
#include <unistd.h>
#include "bench.h"
#include "team.h"

enum { SAMPLES = 1 << 17, CALIBRATION = 100000, TRIES = 5 };

static struct shared {
	_Alignas(128) volatile uint64_t counter;
	struct line {
		_Alignas(64) volatile uint64_t word;
	} *line;
} shared;

/* What all do with the lock. */
struct section {
	struct object_lock *object;
	uint64_t exclusive; /* each so-manieth entry of a thread; 0: none */
	uint64_t turns;     /* of a chain of multiplications */
	uint64_t lines;
	unsigned nap;       /* microseconds */
	bool irrevocable;   /* says that it cannot be taken back: aborts a transaction */
};

struct thrower {
	_Alignas(128) struct pair pair;
	const struct section *section;
	uint64_t random, delay;
	uint64_t all, entries; /* ever; within the window */
	uint64_t kept;         /* of the waits: a fair sample where there are more than it holds */
	double *wait, wait_max;
};

static inline void run_chain(uint64_t turns)
{
	uint64_t x = turns;
	for (; turns; turns--) {
		x *= 0x5851f42d4c957f2dull;
		__asm__ volatile("" : "+r"(x));
	}
}

static inline void run_section(const struct section *section, struct cpu *cpu)
{
	uint64_t seen = shared.counter;
	if (__builtin_expect(section->irrevocable, 0))
		kernel_irrevocable(cpu);
	for (uint64_t i = 0; i < section->lines; i++)
		shared.line[i].word++;
	run_chain(section->turns);
	if (__builtin_expect(section->nap, 0))
		usleep(section->nap);
	shared.counter = seen + 1;
}

static void keep_wait(struct thrower *self, double wait)
{
	uint64_t place = self->entries++;
	if (wait > self->wait_max)
		self->wait_max = wait;
	if (place >= SAMPLES)
		place = draw(&self->random) % self->entries;
	if (place < SAMPLES)
		self->wait[place] = wait;
	self->kept = self->entries < SAMPLES ? self->entries : SAMPLES;
}

/* All of an entry; returns when it had the lock. */
static inline uint64_t enter_section(struct cpu *cpu, const struct section *section, bool exclusively)
{
	uint64_t had;
	if (__builtin_expect(exclusively, 0)) {
		regime_enter_alone(cpu);
		had = cycles_end();
		run_section(section, cpu);
	} else {
		kernel_enter(cpu);
		regime_lock(cpu, section->object);
		had = cycles_end();
		run_section(section, cpu);
		regime_unlock(cpu, section->object);
	}
	kernel_exit(cpu);
	return had;
}

static void thrower_run(struct member *member)
{
	struct thrower *self = member->state;
	const struct team *team = member->team;
	uint64_t exclusive = self->section->exclusive;
	pair_take(&self->pair);
	for (;;) {
		cycles_until(__builtin_ia32_rdtsc() + draw_exponential(&self->random, (double)self->delay));
		uint64_t wanted = cycles_begin();
		if (wanted >= team->end)
			return;
		self->pair.core->spins = 0;
		uint64_t had = enter_section(self->pair.cpu, self->section, exclusive && self->all % exclusive == 0);
		self->all++;
		if (wanted >= team->start)
			keep_wait(self, (double)(had - wanted));
	}
}

/* Cycles of one: the least of a few tries, for others may run here, too. */
static double cycles_of(const struct section *section, uint64_t repeats)
{
	double least = 0;
	for (unsigned try = 0; try < TRIES; try++) {
		uint64_t from = cycles_begin();
		for (uint64_t i = 0; i < repeats; i++)
			run_section(section, 0);
		double one = (double)(cycles_end() - from) / (double)repeats;
		least = try == 0 || one < least ? one : least;
	}
	return least;
}

/* Chooses the turns of the chain, and says how long the section is on a core that has all lines. */
static double section_calibrate(struct section *section, uint64_t cycles)
{
	struct section awake = { .lines = section->lines };
	double fixed = cycles_of(&awake, 1 + CALIBRATION / 10 / (1 + section->lines));
	awake.turns = CALIBRATION;
	double turn = (cycles_of(&awake, 1) - fixed) / CALIBRATION;
	section->turns = awake.turns = (double)cycles > fixed ? (uint64_t)(((double)cycles - fixed) / turn + 0.5) : 0;
	return cycles_of(&awake, 1 + CALIBRATION / 10 / (1 + cycles / 1000 + section->lines));
}

/* Of all threads, sorted. Returns how many. */
static uint64_t gather_waits(const struct thrower *throwers, unsigned cores, double **wait)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < cores; i++)
		count += throwers[i].kept;
	*wait = bench_array(count + 1, sizeof(double));
	for (unsigned i = 0, at = 0; i < cores; at += throwers[i++].kept)
		memcpy(*wait + at, throwers[i].wait, throwers[i].kept * sizeof(double));
	quantile_sort(*wait, count);
	return count;
}

static void report_waits(const struct options *options, const struct team *team, const struct thrower *throwers,
                         double section,
                   const struct counted *counted)
{
	double *wait, most = 0;
	uint64_t kept = gather_waits(throwers, options->cores, &wait), all = 0, entries = 0;
	for (unsigned i = 0; i < options->cores; i++) {
		all += throwers[i].all, entries += throwers[i].entries;
		most = throwers[i].wait_max > most ? throwers[i].wait_max : most;
	}
	bench_begin(team);
	printf(",\"section\":%.1f,\"window\":%llu,\"entries\":%llu,\"all_entries\":%llu,\"counter\":%llu", section,
	       (unsigned long long)options->window, (unsigned long long)entries, (unsigned long long)all,
	       (unsigned long long)shared.counter);
	printf(",\"wait\":{\"p50\":%.0f,\"p99\":%.0f,\"max\":%.0f}", quantile(wait, kept, 0.5),
	       quantile(wait, kept, 0.99), most);
	counted_print(counted);
	printf("}\n");
}

int bench_contended(struct options *options)
{
	static struct thrower throwers[TEAM_MAX];
	static struct team team;
	static struct counted counted;
	struct pair pairs[TEAM_MAX];
	struct section section = { .lines = options->lines, .exclusive = options->exclusive,
	                           .nap = (unsigned)options->nap,
	                           .irrevocable = options->irrevocable };
	shared.line = bench_array(options->lines, sizeof(struct line));
	double cycles = section_calibrate(&section, options->section);
	shared.counter = 0;
	pairs_make(0, options->cores, pairs);
	section.object = regime_object(pairs[0].cpu);
	for (unsigned i = 0; i < options->cores; i++)
		throwers[i] = (struct thrower){
			.pair = pairs[i], .section = &section, .random = draw_seed(options->seed, i),
			.delay = options->delay,
			.wait = bench_array(SAMPLES, sizeof(double)),
		};
	counted_read(&counted.before, pairs, sizeof(pairs[0]), options->cores);
	team_run(&team, options, thrower_run, throwers, sizeof(throwers[0]));
	counted_read(&counted.after, pairs, sizeof(pairs[0]), options->cores);
	report_waits(options, &team, throwers, cycles, &counted);
	uint64_t all = 0;
	for (unsigned i = 0; i < options->cores; i++)
		all += throwers[i].all;
	return shared.counter == all ? 0 : 1;
}
