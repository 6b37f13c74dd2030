/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores that are threads of the host. What they share here is atomic and, but
 * for interrupts (an interrupt's sender comes before its receiver), relaxed: the
 * host must not order what the kernel's own lock is there to order, or the
 * thread sanitizer would see no races.
 *
 * A core without anything to do sleeps. The run is over when all sleep: `busy`
 * counts those that do not, and a core that wakes another is one of them.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "arch.h"
#include "hosted.h"

enum { AWAKE, ASLEEP = 1, ARRIVED = 2 }; /* hosted_core.sleep, bits */
enum { PARKED, GO, QUIT };               /* hosted_core.go */
enum {
	STACK_SIZE = 512 << 10,
	SPINS_YIELD = 64,      /* turns of a waiting loop after which the host may run somebody else */
	SPINS_MAX = 1u << 28,  /* of one kernel entry: more means that cores wait for each other */
	DOZE_NS = 200000,      /* how often a sleeping core looks at its timer */
	LOOKS_MAX = 30,        /* a second each, in which all cores of a run sleep and it is not over: lost wake-up */
};

struct hosted_threads {
	struct hosted *const *machine;
	unsigned count;
	_Atomic uint32_t busy;
	_Atomic bool over;
};

void threads_pause(struct hosted_core *core)
{
	if (core->machine->config.tsc || core->machine->config.cores == 1)
		return;
	core->random = core->random * 1664525u + 1013904223u;
	unsigned dice = core->random >> 16;
	if (dice % 32 == 0)
		sched_yield();
	else if (dice % 4 == 0)
		for (unsigned i = 0; i < dice >> 8; i++)
			__builtin_ia32_pause();
}

void threads_relax(struct hosted_core *core)
{
	__builtin_ia32_pause();
	if (++core->spins % SPINS_YIELD == 0 && !core->machine->config.pinned)
		sched_yield();
	if (core->spins > SPINS_MAX)
		arch_panic("a core waits for another for ever");
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, 0, 0);
}

/* True if the core slept. */
static bool core_mark_busy(struct hosted_core *core)
{
	if (atomic_fetch_or_explicit(&core->sleep, ARRIVED, memory_order_release) != ASLEEP)
		return false; /* it will look before it sleeps, or somebody else has woken it */
	syscall(SYS_futex, &core->sleep, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	return true;
}

/* True if no core counts as busy now: the caller ends the run, and sees all that the others did before they slept. */
static bool core_rest(struct hosted_threads *run)
{
	return atomic_fetch_sub_explicit(&run->busy, 1, memory_order_acq_rel) == 1;
}

/* False if the core sleeps and nobody has woken it. */
static bool tell_awake(struct hosted_core *core)
{
	uint32_t is = atomic_load_explicit(&core->sleep, memory_order_relaxed);
	while (is != ASLEEP)
		if (atomic_compare_exchange_weak_explicit(&core->sleep, &is, is | ARRIVED, memory_order_release,
		                                          memory_order_relaxed))
			return true;
	return false;
}

/*
 * The core counts as busy before it can go on. Were it counted after that, it could be done and asleep again before:
 * none would be busy, and the run over, while its waker still works. True if no core counts as busy now.
 */
static bool core_arrive(struct hosted_core *core, struct hosted_threads *run)
{
	if (tell_awake(core))
		return false;
	atomic_fetch_add_explicit(&run->busy, 1, memory_order_relaxed);
	return !core_mark_busy(core) && core_rest(run);
}

void threads_wake(struct hosted_core *core)
{
	if (core->machine->threads)
		core_arrive(core, core->machine->threads); /* the caller itself is busy */
}

/* A core that is not in its kernel looks at its word by itself, which nobody interrupts it for. */
static bool is_due(const struct hosted_core *core)
{
	return hosted_timer_due(core) || (core->away && hosted_core_busy(core));
}

static struct hosted_core *find_due(const struct hosted_threads *run)
{
	struct hosted_core *core;
	for (unsigned m = 0; m < run->count; m++)
		if ((core = hosted_end_turn(run->machine[m])))
			return core;
	for (unsigned m = 0; m < run->count; m++)
		for (unsigned c = 0; c < run->machine[m]->config.cores; c++)
			if (is_due(&run->machine[m]->core[c]))
				return &run->machine[m]->core[c];
	return 0;
}

/*
 * All sleep, so time stands still: a core goes on that has a timer that is due, or is in the loader and is to come. If
 * there is none, the run is over.
 */
static void run_end(struct hosted_threads *run)
{
	struct hosted_core *due;
	while ((due = find_due(run)))
		if (!core_arrive(due, run))
			return;
	atomic_store_explicit(&run->over, true, memory_order_relaxed);
	for (unsigned m = 0; m < run->count; m++)
		for (unsigned c = 0; c < run->machine[m]->config.cores; c++)
			core_mark_busy(&run->machine[m]->core[c]); /* none counts as busy, so none rouses itself any more */
}

/* A core whose timer has gone off counts as busy again, unless the run is over. */
static bool core_rouse(struct hosted_core *core, struct hosted_threads *run)
{
	uint32_t busy = atomic_load_explicit(&run->busy, memory_order_relaxed), asleep = ASLEEP;
	do {
		if (busy == 0)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&run->busy, &busy, busy + 1, memory_order_relaxed,
	                                                memory_order_relaxed));
	if (!atomic_compare_exchange_strong_explicit(&core->sleep, &asleep, AWAKE, memory_order_acquire,
	                                             memory_order_relaxed))
		atomic_fetch_sub_explicit(&run->busy, 1,
		                          memory_order_relaxed); /* the core that woke it has counted it, too */
	return true;
}

/* Returns false when the run is over. */
static bool sleep_until_something(struct hosted_core *core, struct hosted_threads *run)
{
	static const struct timespec doze = { .tv_nsec = DOZE_NS };
	uint32_t awake = AWAKE;
	if (atomic_compare_exchange_strong_explicit(&core->sleep, &awake, ASLEEP, memory_order_relaxed,
	                                            memory_order_relaxed)) {
		if (core_rest(run))
			run_end(run);
		while (atomic_load_explicit(&core->sleep, memory_order_relaxed) == ASLEEP) {
			futex_wait(&core->sleep, ASLEEP, core->timer ? &doze : 0);
			if (hosted_timer_due(core) && core_rouse(core, run))
				break;
		}
	}
	atomic_exchange_explicit(&core->sleep, AWAKE, memory_order_acquire);
	return !atomic_load_explicit(&run->over, memory_order_relaxed);
}

/* Waits while the core's `go` is `value`. */
static void wait_while(struct hosted_core *core, uint32_t value)
{
	while (atomic_load_explicit(&core->go, memory_order_acquire) == value)
		futex_wait(&core->go, value, 0);
}

static void set_go(struct hosted_core *core, uint32_t value)
{
	atomic_store_explicit(&core->go, value, memory_order_release);
	syscall(SYS_futex, &core->go, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void *core_main(void *argument)
{
	struct hosted_core *core = argument;
	hosted_self = core;
	for (wait_while(core, PARKED); core->go != QUIT; wait_while(core, PARKED)) {
		do
			while (hosted_core_busy(core))
				hosted_core_enter(core);
		while (sleep_until_something(core, core->machine->threads));
		set_go(core, PARKED);
	}
	return 0;
}

void threads_init(struct hosted_core *core)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	errno = pthread_create(&core->host, &attributes, core_main, core);
	if (errno) {
		perror("starting a core");
		abort();
	}
	pthread_attr_destroy(&attributes);
}

void threads_free(struct hosted_core *core)
{
	set_go(core, QUIT);
	pthread_join(core->host, 0);
}

/* Nothing goes on: all cores sleep, and none has begun anything since `entries` were counted. */
static bool all_asleep(const struct hosted_threads *run, uint64_t *entries)
{
	uint64_t sum = 0;
	bool asleep = true;
	for (unsigned m = 0; m < run->count; m++)
		for (unsigned c = 0; c < run->machine[m]->config.cores; c++) {
			const struct hosted_core *core = &run->machine[m]->core[c];
			sum += atomic_load_explicit(&core->entries, memory_order_relaxed);
			asleep &= atomic_load_explicit(&core->sleep, memory_order_relaxed) == ASLEEP;
		}
	asleep &= sum == *entries;
	*entries = sum;
	return asleep;
}

/* Waits until the core is parked. A run whose cores all sleep and which still is not over is a fault of this file. */
static void wait_watching(struct hosted_core *core, const struct hosted_threads *run)
{
	static const struct timespec second = { .tv_sec = 1 };
	uint64_t entries = 0;
	unsigned looks = 0;
	while (atomic_load_explicit(&core->go, memory_order_acquire) == GO) {
		futex_wait(&core->go, GO, &second);
		looks = all_asleep(run, &entries) ? looks + 1 : 0;
		if (looks <= LOOKS_MAX)
			continue;
		fprintf(stderr,
		        "hosted machine: all cores sleep, %u count as busy, and the run is not over (seed %llu)\n",
		        atomic_load_explicit(&run->busy, memory_order_relaxed),
		        (unsigned long long)core->machine->config.seed);
		abort();
	}
}

/* Where time passes by itself, a timer may have become due since. */
static void check_rest(const struct hosted *machine)
{
	for (unsigned c = 0; c < machine->config.cores && !machine->config.tsc; c++)
		if (hosted_core_busy(&machine->core[c])) {
			fprintf(stderr,
			        "hosted machine: the run is over, and core %u has something to do (seed %llu)\n", c,
			        (unsigned long long)machine->config.seed);
			abort();
		}
}

void threads_run(struct hosted *const *list, unsigned count)
{
	struct hosted_threads run = { .machine = list, .count = count };
	for (unsigned m = 0; m < count; m++) {
		run.busy += list[m]->config.cores;
		list[m]->threads = &run;
	}
	for (unsigned m = 0; m < count; m++)
		for (unsigned c = 0; c < list[m]->config.cores; c++)
			set_go(&list[m]->core[c], GO);
	for (unsigned m = 0; m < count; m++)
		for (unsigned c = 0; c < list[m]->config.cores; c++)
			wait_watching(&list[m]->core[c], &run);
	for (unsigned m = 0; m < count; m++) {
		check_rest(list[m]);
		list[m]->threads = 0;
	}
}
