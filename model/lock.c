/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One lock regime (REGIME_HEADER), as the kernel compiles it: mutual exclusion
 * (what it guards is plain memory, so that a hole is a data race), progress,
 * exclusive entries, object locks in pairs, and first come first served.
 */
#include <stdatomic.h>
#include "explore.h"
#include "kernel.h"

enum { CORES = 3 };

/* How many of three cores enter twice: all, but where a regime has too many executions to see them all. */
#ifndef TWICE
#define TWICE 3
#endif

static struct kernel kernel;
static struct cpu cpu[CORES];
static struct object_lock object[2];
static struct core_stat stat[CORES];

/* Guarded by the kernel's lock and, in regimes that have them, the object's lock. */
static uint64_t guarded[2];

/* Which thread waits in which entry, for fairness. */
static _Atomic uint32_t waits_in[CORES];
static uint32_t entry[CORES];   /* each core's own */
static uint32_t entered[CORES]; /* guarded */

/* Null: for an object's lock. */
void kernel_relax(struct cpu *c)
{
	unsigned self = c ? c - cpu : explore_self();
	if (entry[self] && atomic_load_explicit(&waits_in[self], memory_order_relaxed) != entry[self])
		atomic_store_explicit(&waits_in[self], entry[self], memory_order_release);
	explore_relax();
}

bool kernel_cores_move(struct cpu *c) { return (void)c, false; }
void kernel_interrupt_now(struct cpu *c, const struct core_set *cores)
{
	explore_fail("core %u revokes biases (%#llx), and none is on", (unsigned)(c - cpu),
	             (unsigned long long)core_set_get64(cores, 0));
}
void kernel_interrupt_all(struct cpu *c)
{
	explore_fail("core %u begins an epoch, and nothing changes", (unsigned)(c - cpu));
}

static void set_up(void)
{
	for (unsigned i = 0; i < CORES; i++) {
		cpu[i].own.kernel = &kernel;
		cpu[i].own.index = i;
		cpu[i].own.stat = &stat[i];
		kernel.cpu[i] = &cpu[i];
		explore_name(&cpu[i].own.lock, sizeof(cpu[i].own.lock),
		             i == 0 ? "core 0's lock" : i == 1 ? "core 1's lock" : "core 2's lock");
	}
	kernel.cpu_count = CORES;
	kernel.core_words = core_set_index(CORES - 1) + 1;
	core_set_put64(&kernel.cores, 0, (1ull << CORES) - 1);
	explore_name(&kernel.lock, sizeof(kernel.lock), "the kernel's lock");
	explore_name(guarded, sizeof(guarded), "what the lock guards");
}

static void begin(void)
{
	lock_kernel_init(&kernel);
	for (unsigned i = 0; i < CORES; i++)
		lock_cpu_init(&cpu[i]);
}

static void count(unsigned self, unsigned which)
{
	kernel_enter(&cpu[self]);
	object_lock(&cpu[self], &object[which], LOCK_CLASS_ENDPOINT);
	guarded[which]++;
	object_unlock(&cpu[self], &object[which], LOCK_CLASS_ENDPOINT);
	kernel_exit(&cpu[self]);
}

static void enter_once(unsigned self) { count(self, 0); }

static void enter_twice(unsigned self)
{
	count(self, 0);
	count(self, 0);
}

/* As often as there is time to explore, by three cores. */
static void enter_often(unsigned self)
{
	count(self, 0);
	if (self < TWICE)
		count(self, 0);
}

static void enter_thrice(unsigned self)
{
	enter_twice(self);
	count(self, 0);
}

static void all_counted(uint64_t expected)
{
	EXPLORE_CHECK(guarded[0] == expected, "%llu entries left a trace of %llu", (unsigned long long)guarded[0],
	              (unsigned long long)expected);
}
static void three(void) { all_counted(3); }
static void six(void) { all_counted(6); }
static void often(void) { all_counted(3 + TWICE); }

/* Core 0 destroys: no object locks, everybody else out. */
static void exclusively(unsigned self)
{
	if (self) {
		enter_often(self);
		return;
	}
	kernel_enter_exclusive(&cpu[self]);
	guarded[0]++;
	guarded[1]++;
	kernel_exit(&cpu[self]);
	count(self, 0);
}

/* Two cores destroy, beside one that only looks. */
static void exclusively_twice(unsigned self)
{
	if (self == 1) {
		enter_once(self);
		return;
	}
	kernel_enter_exclusive(&cpu[self]);
	guarded[0]++;
	kernel_exit(&cpu[self]);
}

static void pairs(unsigned self)
{
	kernel_enter(&cpu[self]);
	object_lock_pair(&cpu[self], &object[self & 1], &object[!(self & 1)], LOCK_CLASS_TCB);
	guarded[0]++;
	guarded[1]++;
	object_unlock_pair(&cpu[self], &object[self & 1], &object[!(self & 1)], LOCK_CLASS_TCB);
	kernel_exit(&cpu[self]);
	count(self, 1);
}

/* A thread that is seen to wait before another asks is served before it. */
static void in_turn(unsigned self)
{
	uint32_t before[CORES];
	for (unsigned i = 0; i < CORES; i++)
		before[i] = i == self ? 0 : atomic_load_explicit(&waits_in[i], memory_order_acquire);
	entry[self]++;
	kernel_enter_exclusive(&cpu[self]);
	for (unsigned i = 0; i < CORES; i++)
		EXPLORE_CHECK(entered[i] >= before[i], "core %u overtook core %u", self, i);
	entered[self]++;
	kernel_exit(&cpu[self]);
}

#ifdef CLH_LOCK_H
/* clh_held() beside a holder and a core that queues: one that finds the lock released sees what its holder left. */
static struct clh_lock queue;
static struct clh_place place[2];
static _Atomic uint64_t left; /* by the last holder */

static void begin_held(void)
{
	clh_lock_init(&queue);
	for (unsigned i = 0; i < 2; i++)
		clh_place_init(&place[i]);
	clh_take(&queue, &place[0], 0);
}

static void looks(unsigned self)
{
	if (self == 2) {
		if (!clh_held(&queue))
			EXPLORE_CHECK(atomic_load_explicit(&left, memory_order_relaxed),
			              "the lock is found released by a core that does not see what its holder did");
		return;
	}
	if (self == 1)
		clh_take(&queue, &place[1], 0);
	atomic_store_explicit(&left, self + 1, memory_order_relaxed);
	clh_release(&place[self]);
}
#endif

#define ALWAYS .set_up = set_up, .begin = begin
static const struct explore_case cases[] = {
	{ .name = "2 cores, 3 entries each", .threads = 2, .thread = enter_thrice, .end = six, ALWAYS },
	{ .name = "3 cores, 1 entry each", .threads = 3, .thread = enter_once, .end = three, ALWAYS },
	{ .name = "3 cores, some enter twice", .threads = 3, .thread = enter_often, .end = often, ALWAYS },
	{ .name = "an exclusive entry beside 2 cores", .threads = 3, .thread = exclusively, ALWAYS },
	{ .name = "two exclusive entries beside a core", .threads = 3, .thread = exclusively_twice, .end = three,
	  ALWAYS },
	{ .name = "pairs of objects", .threads = 2, .thread = pairs, ALWAYS },
	{ .name = "first come, first served", .threads = 3, .thread = in_turn, ALWAYS },
#ifdef CLH_LOCK_H
	{ .name = "a core looks", .threads = 3, .thread = looks, .begin = begin_held },
#endif
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
