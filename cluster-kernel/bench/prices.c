/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What things cost on these processors, as far as a program can see: for the machine file of a modelled machine
 * (deploy/bench/validate/calibrate.py). Without the kernel. All times are cycles of the time-stamp counter.
 *
 *     bench-prices cpus=0[,1] [rounds=SAMPLES] [lines=BYTES] [section=BYTES] [delay=BYTES]
 *
 * With one processor what it does alone: lines, section and delay are sizes that lie in its L2, in its L3 and in no
 * cache. With two, what a line costs that moves from the second to the first.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include "team.h"

enum { SAMPLES_MAX = 4000, LINE = 64, STEPS = 512, REPEATS = 200, HUGE = 2 << 20, HWCAP2_FSGSBASE = 2 };

static double sample[SAMPLES_MAX];
static bool first = true;
static uint64_t state = 1;

static uint64_t draw_number(void) /* xorshift64: Marsaglia 2003 */
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state;
}

static void print_samples(const char *name, unsigned count)
{
	quantile_sort(sample, count);
	printf("%s\"%s\":{\"median\":%.3f,\"p10\":%.3f,\"p90\":%.3f,\"count\":%u}", first ? "" : ",", name,
	       quantile(sample, count, 0.5), quantile(sample, count, 0.1), quantile(sample, count, 0.9), count);
	first = false;
}

/* ---- one processor: latencies of loads that wait for each other ---- */

/* A cycle through `count` lines that are `stride` bytes apart, in random order (Sattolo's algorithm). */
static void **tangle_lines(char *base, size_t count, size_t stride)
{
	size_t *order = malloc(count * sizeof(*order));
	if (!order)
		abort();
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t i = count - 1; i > 0; i--) {
		size_t j = draw_number() % i, kept = order[i];
		order[i] = order[j];
		order[j] = kept;
	}
	for (size_t i = 0; i < count; i++)
		*(void **)(base + order[i] * stride) = base + order[(i + 1) % count] * stride;
	free(order);
	return (void **)base;
}

static void **chase_lines(void **at, unsigned steps)
{
	for (unsigned i = 0; i < steps; i += 8)
		at = (void **)*(void **)*(void **)*(void **)*(void **)*(void **)*(void **)*at;
	return at;
}

/* Latency of a load in memory of so many bytes, in pages as large as the host gives. */
static void measure_loads(const char *name, size_t bytes, unsigned samples)
{
	size_t room = (bytes + HUGE - 1) / HUGE * HUGE + HUGE;
	char *mapped = mmap(0, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED) {
		perror("memory");
		exit(1);
	}
	char *base = (char *)(((uintptr_t)mapped + HUGE - 1) / HUGE * HUGE);
	madvise(base, room - HUGE, MADV_HUGEPAGE);
	void **at = tangle_lines(base, bytes / LINE, LINE);
	at = chase_lines(at, bytes / LINE < 1 << 20 ? (unsigned)(bytes / LINE / 8 * 8) : 1 << 20);
	for (unsigned i = 0; i < samples; i++) {
		uint64_t from = cycles_begin();
		at = chase_lines(at, STEPS);
		__asm__ volatile("" : "+r"(at));
		sample[i] = (double)(cycles_end() - from) / STEPS;
	}
	munmap(mapped, room);
	print_samples(name, samples);
}

/* ---- one processor: instructions ---- */

static void do_nothing(void) {}
static _Alignas(128) _Atomic uint64_t counter;
static void do_locked(void) { atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed); }
static void do_fence(void) { __asm__ volatile("mfence" ::: "memory"); }
static void do_pause(void) { __builtin_ia32_pause(); }
static void clock_read(void) { __builtin_ia32_rdtsc(); }
static void do_divide(void)
{
	uint64_t low = 0x123456789abcdef, high = 1, by = 0x1234567;
	__asm__ volatile("div %2" : "+a"(low), "+d"(high) : "r"(by * 0x100) : "cc");
}
static void segment_base(void)
{
	uint64_t base;
	__asm__ volatile("rdfsbase %0; wrfsbase %0" : "=r"(base));
}
/* The shortest system call that the host has: one of a number that it does not know. */
static void call_nothing(void)
{
	long result = -1;
	__asm__ volatile("syscall" : "+a"(result)::"rcx", "r11", "memory");
}
static _Alignas(64) char saved[16384];
static void save_state(void)
{
	uint32_t low = 3, high = 0; /* x87 and SSE, as the kernel's */
	__asm__ volatile("xsave %0; xrstor %0" : "+m"(saved) : "a"(low), "d"(high));
}
static void do_copy(void)
{
	static _Alignas(64) uint64_t from[64], to[64];
	uint64_t *source = from, *target = to, count = 64;
	__asm__ volatile("rep movsq" : "+S"(source), "+D"(target), "+c"(count)::"memory");
}

/* Cycles of one of `what`, the loop around it and its call included; `nothing` says what those are. */
static void measure_instructions(const char *name, void (*what)(void), unsigned samples)
{
	void (*volatile hidden)(void) = what;
	for (unsigned i = 0; i < samples; i++) {
		void (*call)(void) = hidden;
		uint64_t from = cycles_begin();
		for (unsigned j = 0; j < REPEATS; j++)
			call();
		sample[i] = (double)(cycles_end() - from) / REPEATS;
	}
	print_samples(name, samples);
}

/*
 * A mix as compilers make of a kernel's C, with what it waits for in L1: of 24 instructions 6 loads (a chain of two
 * pointers and four fields), 3 stores, 4 branches that are predicted, a call with its return. Cycles for each.
 */
static __attribute__((noinline)) uint64_t *heap_step(uint64_t *object, uint64_t key)
{
	__asm__ volatile("mov (%0), %%rax; mov 8(%0), %%rcx; mov (%%rax), %%rdx; add %1, %%rcx; test %%rcx, %%rcx; "
	                 "js 1f;"
	                 "mov 16(%%rdx), %%rsi; and $0xfff, %%rsi; cmp %%rsi, %%rcx; je 1f; mov %%rcx, 24(%%rdx); mov "
	                 "32(%%rax), %%rdi;"
	                 "lea 1(%%rdi), %%rdi; mov %%rdi, 32(%%rax); shr $3, %%rsi; or %%rsi, %%rdi; test %%rdi, "
	                 "%%rdi; je 1f;"
	                 "mov %%rcx, 40(%0); mov 48(%%rdx), %0; 1:"
	                 : "+r"(object)
	                 : "r"(key)
	                 : "rax", "rcx", "rdx", "rsi", "rdi", "cc", "memory");
	return object;
}
enum { MIX = 24 }; /* 20 above, the call, its argument, the return and the loop's share */

static void measure_mix(unsigned samples)
{
	static _Alignas(4096) uint64_t object[8][512];
	for (unsigned i = 0; i < 8; i++) {
		object[i][0] = (uint64_t)object[(i + 3) % 8], object[i][1] = 0x1000;
		object[i][6] = (uint64_t)object[(i + 5) % 8];
	}
	for (unsigned i = 0; i < samples; i++) {
		uint64_t *at = object[0], from = cycles_begin();
		for (unsigned j = 0; j < REPEATS; j++)
			at = heap_step(at, j + 1);
		__asm__ volatile("" : "+r"(at));
		sample[i] = (double)(cycles_end() - from) / (REPEATS * MIX);
	}
	print_samples("cpi", samples);
}

static const struct options *given;

static void measure_alone(struct member *self)
{
	(void)self;
	unsigned samples = (unsigned)given->rounds;
	measure_mix(samples);
	measure_loads("l1", 16 << 10, samples);
	measure_loads("l2", given->lines, samples);
	measure_loads("l3", given->section, samples);
	measure_loads("dram", given->delay, samples);
	measure_instructions("nothing", do_nothing, samples);
	measure_instructions("atomic", do_locked, samples);
	measure_instructions("fence", do_fence, samples);
	measure_instructions("pause", do_pause, samples);
	measure_instructions("rdtsc", clock_read, samples);
	measure_instructions("divide", do_divide, samples);
	measure_instructions("copy_64", do_copy, samples);
	measure_instructions("xsave_pair", save_state, samples);
	measure_instructions("system_call", call_nothing, samples);
	if (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE)
		measure_instructions("segment_base_pair", segment_base, samples);
}

/* ---- two processors: lines that move ---- */

enum { PASSES = 64, BALLS = 48, APART = 4096 + 2 * LINE }; /* lines, each in a page of its own: no prefetcher follows */
static _Alignas(4096) char court[BALLS * APART + 4096];
static _Alignas(2 * LINE) _Atomic unsigned turn;
static enum { READ, WRITE, UPGRADE } how;

/* Each line is loaded, or written by a locked instruction, when the one before it has come. */
static double take_lines(bool write)
{
	void **at = (void **)court;
	uint64_t from = cycles_begin();
	for (unsigned i = 0; i < BALLS; i++)
		at = write ? (void **)atomic_fetch_add_explicit((_Atomic uintptr_t *)at, 0, memory_order_relaxed)
		     : (void **)*(void *volatile *)at;
	__asm__ volatile("" : "+r"(at));
	return (double)(cycles_end() - from) / BALLS;
}

static void wait_turn(unsigned number)
{
	while (atomic_load_explicit(&turn, memory_order_acquire) != number)
		__builtin_ia32_pause();
}
static void end_turn(unsigned number) { atomic_store_explicit(&turn, number + 1, memory_order_release); }

/*
 * Four turns a sample: the second processor writes all lines; the first reads them; the second does, too; the first is
 * measured. Only an upgrade has the two in the middle: a processor may hand over a line that another wrote and one
 * reads as that one's own, so that it is shared only when the writer has read it again.
 */
static void cores_meet(struct member *self)
{
	unsigned samples = (unsigned)given->rounds;
	for (unsigned i = 0; i < samples; i++) {
		for (unsigned part = self->index ? 0 : 1; part < 4; part += 2) {
			wait_turn(4 * i + part);
			if (part == 0)
				take_lines(true);
			else if (part == 3)
				sample[i] = take_lines(how != READ);
			else if (how == UPGRADE)
				take_lines(false);
			end_turn(4 * i + part);
		}
	}
}

/*
 * A flag that both wait for in turn: what a waiter sees of a hand-over. The writer's line is shared, so that it is
 * upgraded; the waiter asks for it while that is under way. A sample is the mean of one way.
 */
static void hand_over(struct member *self)
{
	for (unsigned i = 0; i < (unsigned)given->rounds; i++) {
		uint64_t from = cycles_begin();
		for (unsigned pass = 0; pass < PASSES; pass++) {
			unsigned mine = 2 * (i * PASSES + pass) + self->index;
			while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
				;
			atomic_store_explicit(&turn, mine + 1, memory_order_release);
		}
		if (!self->index)
			sample[i] = (double)(cycles_end() - from) / (2 * PASSES);
	}
}

static void measure_together(const struct options *options)
{
	static const char *const names[] = { "read", "write", "upgrade" };
	static struct team team;
	tangle_lines(court, BALLS, APART);
	for (how = READ; how <= UPGRADE; how++) {
		atomic_store(&turn, 0);
		team_run(&team, options, cores_meet, 0, 0);
		print_samples(names[how], (unsigned)options->rounds);
	}
	atomic_store(&turn, 0);
	team_run(&team, options, hand_over, 0, 0);
	print_samples("hand_over", (unsigned)options->rounds);
	/* The same by one processor to itself: what the loop and a locked instruction cost where no line moves. */
	for (unsigned write = 0; write < 2; write++) {
		for (unsigned i = 0; i < options->rounds; i++)
			sample[i] = take_lines(write);
		print_samples(write ? "write_own" : "read_own", (unsigned)options->rounds);
	}
}

int main(int argc, char **argv)
{
	struct options options;
	static struct team team;
	options_read(&options, argc, argv, 1);
	if (options.rounds > SAMPLES_MAX || options.cores > 2) {
		fputs("rounds: up to 4,000; cpus: one or two\n", stderr);
		return 2;
	}
	if (options.cores == 1 && (options.lines < 4096 || options.section < 4096 || options.delay < 4096)) {
		fputs("lines, section, delay: sizes in bytes, from 4,096 on\n", stderr);
		return 2;
	}
	given = &options;
	printf("{\"tsc_hz\":%.0f,", cycles_per_second());
	if (options.cores == 1)
		team_run(&team, &options, measure_alone, 0, 0);
	else
		measure_together(&options);
	printf("}\n");
	return 0;
}
