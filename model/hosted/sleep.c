/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores that are threads of the host (../arch-hosted/threads.c) sleep and wake each other: a run is over when no core
 * has anything left to do, and not before. What a core does is a list of cores that it interrupts, one in each entry.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include "arch.h"
#include "explore.h"
#include "hosted.h"

enum { CORES = 2, ENTRIES = 3, LATER = 10 };
enum { PARKED, GO, QUIT }; /* as there */

struct plan {
	unsigned wakes[CORES][ENTRIES]; /* 1 + the core that is interrupted; 0: none */
	bool timed;                     /* core 1 has a timer, which is due after core 0's first entry */
};

_Thread_local struct hosted_core *hosted_self;
static struct hosted machine;
static struct hosted_threads *run;
static struct plan plan;
static unsigned entered[CORES];
static bool dozed[CORES];
static void *(*core_main)(void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	(void)thread, (void)attributes, (void)argument;
	core_main = start;
	return 0;
}

/* For begin(): the run's starter does not wait for its end. For the cores: one that is parked quits. */
static void go_on(_Atomic uint32_t *go)
{
	if (*go == GO)
		run = machine.threads;
	*go = *go == GO ? PARKED : QUIT;
}

/* A sleep with a timeout ends once by its timeout, before anything else happens. */
static void sleep_now(bool timeout)
{
	bool *was = &dozed[explore_self()];
	if (!timeout || *was)
		explore_relax();
	*was = true;
}

long __wrap_syscall(long number, _Atomic uint32_t *word, int operation, uint32_t value, const void *timeout);
long __wrap_syscall(long number, _Atomic uint32_t *word, int operation, uint32_t value, const void *timeout)
{
	bool waits = operation == FUTEX_WAIT_PRIVATE, of_run = false;
	(void)number, (void)value;
	for (unsigned c = 0; c < CORES; c++)
		of_run |= word == &machine.core[c].go;
	if (of_run && waits == !explore_running())
		go_on(word);
	else if (waits)
		sleep_now(timeout);
	return 0;
}

void arch_panic(const char *reason) { explore_fail("%s", reason); }

bool hosted_timer_due(const struct hosted_core *core)
{
	uint64_t timer = atomic_load_explicit(&core->timer, memory_order_relaxed);
	return timer && timer <= atomic_load_explicit(&machine.time, memory_order_relaxed);
}

/* These cores have no visitors, whose turns would end here. */
struct hosted_core *hosted_end_turn(struct hosted *of)
{
	(void)of;
	return 0;
}

bool hosted_core_busy(const struct hosted_core *core)
{
	return atomic_load_explicit(&core->vectors[0], memory_order_relaxed) || hosted_timer_due(core);
}

void hosted_core_enter(struct hosted_core *core)
{
	unsigned self = core - machine.core, entry = entered[self]++,
	         wakes = entry < ENTRIES ? plan.wakes[self][entry] : 0;
	if (hosted_timer_due(core))
		atomic_store_explicit(&core->timer, 0, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&core->vectors[0], 0, memory_order_acquire);
	if (plan.timed && self == 0)
		atomic_fetch_add_explicit(&machine.time, LATER, memory_order_relaxed);
	if (!wakes)
		return;
	atomic_fetch_or_explicit(&machine.core[wakes - 1].vectors[0], 1, memory_order_release);
	threads_wake(&machine.core[wakes - 1]);
}

/* The run begins; core 0 has something to do. */
static void begin(const struct plan *is)
{
	static struct hosted *const machines[] = { &machine };
	plan = *is;
	machine.config.cores = CORES;
	machine.config.tsc = true; /* threads_run() is not to see whether all is done */
	for (unsigned c = 0; c < CORES; c++) {
		machine.core[c].machine = &machine;
		threads_init(&machine.core[c]);
	}
	machine.core[0].vectors[0] = 1;
	machine.core[1].timer = plan.timed ? LATER : 0;
	threads_run(machines, 1);
	machine.threads = run;
	for (unsigned c = 0; c < CORES; c++)
		machine.core[c].go = GO;
}

static void thread(unsigned self) { core_main(&machine.core[self]); }

static void end(void)
{
	for (unsigned c = 0; c < CORES; c++)
		EXPLORE_CHECK(!hosted_core_busy(&machine.core[c]), "the run is over, and core %u has something to do",
		              c);
}

static void set_up(void)
{
	static const char *const sleep[] = { "sleep of core 0", "sleep of core 1" };
	static const char *const vectors[] = { "vectors of core 0", "vectors of core 1" };
	static const char *const timer[] = { "timer of core 0", "timer of core 1" };
	for (unsigned c = 0; c < CORES; c++) {
		explore_name(&machine.core[c].sleep, sizeof(machine.core[c].sleep), sleep[c]);
		explore_name(&machine.core[c].vectors[0], sizeof(machine.core[c].vectors[0]), vectors[c]);
		explore_name(&machine.core[c].timer, sizeof(machine.core[c].timer), timer[c]);
	}
	explore_name(&machine.time, sizeof(machine.time), "time");
}

static void one_way(void) { begin(&(struct plan){ .wakes = { { 2 } } }); }
static void to_and_fro(void) { begin(&(struct plan){ .wakes = { { 2, 2 }, { 1 } } }); }
static void timer(void) { begin(&(struct plan){ .timed = true }); }
static void timer_and_wake_ups(void) { begin(&(struct plan){ .wakes = { { 2 }, { 1 } }, .timed = true }); }

#define CASE .threads = CORES, .thread = thread, .set_up = set_up, .end = end

static const struct explore_case cases[] = {
	{ .name = "one wakes the other", CASE, .begin = one_way },
	{ .name = "to and fro", CASE, .begin = to_and_fro },
	{ .name = "a timer", CASE, .begin = timer },
	{ .name = "wake-ups beside a timer", CASE, .begin = timer_and_wake_ups },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
