/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime rtm on the host's own cores: the seam alone, around plain memory.
 * Where the processor has no transactions all of it runs, and passes, with the
 * lock; what only transactions can show is then not asked, and that is said.
 * There XBEGIN is undefined (a signal handler makes it abort at once), or aborts
 * by itself: every transaction aborts.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include "kernel.h"

enum { CORES = 2, ALONE = 1000000, LARGE = 16 << 20 };
/* the lock's order costs dearly where the host has other work */
enum { ABORTING = 5000, ENTRIES = 1000000, ENTRIES_LOCKED = 50000 };

static struct kernel kernel;
static struct boot_info info;
static struct cpu cpus[CORES];
static struct core_stat stats[CORES];
static bool elides;
static unsigned entries;

/* What the kernel would have. */
void print(const char *format, ...) { (void)format; }
void kernel_relax(struct cpu *cpu)
{
	(void)cpu;
	__builtin_ia32_pause();
	sched_yield();
}
uint64_t hosted_time(void) { return __builtin_ia32_rdtsc(); }

#define EXPECT(condition) ((condition) ? (void)0 : failed(#condition, __LINE__))

static _Noreturn void failed(const char *condition, int line)
{
	const struct transaction_stat *t = &stats[0].transactions;
	fprintf(stderr, "line %d: not %s (core 0: %llu begun, %llu committed, %llu fallbacks, aborted", line, condition,
	        (unsigned long long)t->begun, (unsigned long long)t->committed, (unsigned long long)t->fallbacks);
	for (unsigned i = 0; i < ABORT_CAUSES; i++)
		fprintf(stderr, " %llu", (unsigned long long)t->aborted[i]);
	fprintf(stderr, ")\n");
	exit(1);
}

static void set_up(void)
{
	memset(&kernel, 0, sizeof(kernel));
	memset(cpus, 0, sizeof(cpus));
	memset(stats, 0, sizeof(stats));
	kernel.boot = &info;
	lock_kernel_init(&kernel);
	for (unsigned i = 0; i < CORES; i++) {
		cpus[i].own.kernel = &kernel;
		cpus[i].own.index = i;
		cpus[i].own.stat = &stats[i];
		lock_cpu_init(&cpus[i]);
	}
	elides = kernel.lock.retry_budget.attempts;
	entries = elides ? ENTRIES : ENTRIES_LOCKED;
}

static uint64_t aborted(unsigned core)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < ABORT_CAUSES; i++)
		sum += stats[core].transactions.aborted[i];
	return sum;
}

static void expect_sums(unsigned core, uint64_t entries)
{
	const struct transaction_stat *t = &stats[core].transactions;
	EXPECT(stats[core].entries == entries);
	EXPECT(t->committed + t->fallbacks == entries);
	EXPECT(t->begun == t->committed + aborted(core));
	EXPECT(stats[core].lock[LOCK_CLASS_KERNEL].acquisitions == t->fallbacks);
	EXPECT(elides || t->fallbacks == entries);
}

/* Plain memory: where two cores are inside, additions are lost. */
static uint64_t shared[2];
static struct {
	_Alignas(64) uint64_t value;
} own[CORES];

static void *add_to_shared(void *argument)
{
	struct cpu *cpu = argument;
	for (unsigned i = 0; i < entries; i++) {
		kernel_enter(cpu);
		uint64_t before = shared[0];
		shared[0] = before + 1;
		shared[1] = before + 1;
		kernel_exit(cpu);
	}
	return 0;
}

/* Some with the lock, some without: what each sees of the other is whole. */
static void *add_either_way(void *argument)
{
	struct cpu *cpu = argument;
	for (unsigned i = 0; i < entries; i++) {
		kernel_enter(cpu);
		if (i % 8 == cpu->own.index)
			kernel_irrevocable(cpu);
		bool whole = shared[0] == shared[1];
		shared[0]++;
		shared[1]++;
		kernel_exit(cpu);
		EXPECT(whole);
	}
	return 0;
}

static void *add_to_own(void *argument)
{
	struct cpu *cpu = argument;
	for (unsigned i = 0; i < ALONE; i++) {
		kernel_enter(cpu);
		own[cpu->own.index].value++;
		kernel_exit(cpu);
	}
	return 0;
}

static void run(void *(*body)(void *), unsigned cores)
{
	pthread_t thread[CORES];
	set_up();
	shared[0] = shared[1] = 0;
	memset(own, 0, sizeof(own));
	for (unsigned i = 0; i < cores; i++)
		if (pthread_create(&thread[i], 0, body, &cpus[i]))
			abort();
	for (unsigned i = 0; i < cores; i++)
		pthread_join(thread[i], 0);
}

static void many_on_one_word(void *(*body)(void *))
{
	run(body, CORES);
	EXPECT(shared[0] == (uint64_t)CORES * entries && shared[1] == shared[0]);
	for (unsigned i = 0; i < CORES; i++)
		expect_sums(i, entries);
}

/* With nothing in common, transactions do not meet. */
static void apart(void)
{
	run(add_to_own, CORES);
	for (unsigned i = 0; i < CORES; i++) {
		EXPECT(own[i].value == ALONE);
		expect_sums(i, ALONE);
		EXPECT(!elides || stats[i].transactions.fallbacks < ALONE / 100);
	}
	printf("apart: core 0 began %llu transactions for %u entries, %llu fallbacks\n",
	       (unsigned long long)stats[0].transactions.begun, ALONE,
	       (unsigned long long)stats[0].transactions.fallbacks);
}

/* Each cause that can be provoked at will. What a body does is done once, whatever it took. */
static uint64_t done;

static void nothing(struct cpu *cpu) { (void)cpu; }
static void cannot_be_undone(struct cpu *cpu) { kernel_irrevocable(cpu); }
static void pauses(struct cpu *cpu) { (void)cpu, __builtin_ia32_pause(); }
static void enters_the_host(struct cpu *cpu) { (void)cpu, sched_yield(); }
static void writes_much(struct cpu *cpu)
{
	static volatile uint8_t large[LARGE];
	(void)cpu;
	for (unsigned i = 0; i < LARGE; i += 64)
		large[i]++;
}

static const struct provoked {
	void (*body)(struct cpu *cpu);
	enum abort_cause cause;
	unsigned aborts; /* that many; 0: one at least */
	unsigned fallbacks;
} provoked[] = {
	{ nothing, ABORT_CAUSES, 0, 0 },
	{ cannot_be_undone, ABORT_EXPLICIT, 1, 1 },
	{ pauses, ABORT_OTHER, RTM_ATTEMPTS, 1 },
	{ enters_the_host, ABORT_OTHER, RTM_ATTEMPTS, 1 },
	{ writes_much, ABORT_CAPACITY, 0, 1 },
};

static void causes(void)
{
	writes_much(&cpus[0]); /* its pages exist */
	for (unsigned i = 0; i < sizeof(provoked) / sizeof(provoked[0]); i++) {
		const struct provoked *p = &provoked[i];
		set_up();
		done = 0;
		for (unsigned n = 0; n < 20; n++) {
			kernel_enter(&cpus[0]);
			done++;
			p->body(&cpus[0]);
			kernel_exit(&cpus[0]);
		}
		EXPECT(done == 20);
		expect_sums(0, 20);
		if (!elides || p->cause == ABORT_CAUSES)
			continue;
		EXPECT(stats[0].transactions.fallbacks == 20 * p->fallbacks);
		EXPECT(stats[0].transactions.aborted[p->cause] >= (p->aborts ? 20 : 1));
		EXPECT(!p->aborts || aborted(0) >= 20 * p->aborts);
	}
}

/* XBEGIN as it aborts at once: on to its target, with a status in EAX. */
static void abort_at_once(int number, siginfo_t *signal_info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *code = (const uint8_t *)registers[REG_RIP];
	int32_t distance;
	(void)signal_info;
	if (code[0] != 0xc7 || code[1] != 0xf8) {
		signal(number, SIG_DFL);
		return;
	}
	memcpy(&distance, code + 2, sizeof(distance));
	registers[REG_RAX] = RTM_RETRY;
	registers[REG_RIP] += 6 + distance;
}

static void *enter_aborting(void *argument)
{
	struct cpu *cpu = argument;
	cpu->own.lock.retry_budget = (struct rtm_retry_budget){ RTM_ATTEMPTS, RTM_TURNS };
	for (unsigned i = 0; i < ABORTING; i++) {
		kernel_enter(cpu);
		kernel_irrevocable(cpu); /* it has the lock: this does nothing */
		shared[0]++;
		kernel_exit(cpu);
	}
	return 0;
}

static void every_transaction_aborts(void)
{
	struct sigaction action = { .sa_sigaction = abort_at_once, .sa_flags = SA_SIGINFO };
	sigaction(SIGILL, &action, 0);
	run(enter_aborting, CORES);
	EXPECT(shared[0] == CORES * ABORTING);
	for (unsigned i = 0; i < CORES; i++) {
		expect_sums(i, ABORTING);
		EXPECT(stats[i].transactions.fallbacks == ABORTING);
		EXPECT(aborted(i) >= (uint64_t)RTM_ATTEMPTS * ABORTING); /* more: the lock was held */
		EXPECT(aborted(i) == stats[i].transactions.begun);
	}
	printf("every transaction aborts: %llu begun for %u entries\n", (unsigned long long)stats[0].transactions.begun,
	       ABORTING);
}

int main(void)
{
	causes();
	many_on_one_word(add_to_shared);
	many_on_one_word(add_either_way);
	apart();
	if (!elides)
		every_transaction_aborts();
	printf(elides ? "with transactions\n" : "with the lock alone: this processor has no transactions to offer\n");
	return 0;
}
