/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `clh`: one big lock, a CLH queue lock (Craig 1993; Elphinstone 2016,
 * section 3.2). Fair, and each waiter spins on a line that only its
 * predecessor writes, so that a release costs one line transfer however many
 * wait.
 */
#pragma once

#include COUNT_HEADER
#include "../core/kernel.h"

static inline void lock_kernel_init(struct kernel *kernel)
{
	atomic_store_explicit(&kernel->lock.tail, &kernel->lock.first, memory_order_relaxed);
}

static inline void lock_cpu_init(struct cpu *cpu)
{
	cpu->own.lock.mine = &cpu->own.lock.node;
	if (cpu->own.index == 0)
		count_instance(cpu, LOCK_CLASS_KERNEL, 1);
}

/* Out of line, so that who finds the lock free saves no registers. Returns the turns it took. */
static __attribute__((noinline, cold, unused)) uint64_t clh_wait(struct cpu *cpu, const struct clh_node *node)
{
	uint64_t spins = 0;
	while (atomic_load_explicit(&node->held, memory_order_acquire)) {
		spins++;
		kernel_relax(cpu);
	}
	return spins;
}

static inline void kernel_enter(struct cpu *cpu)
{
	struct lock_cpu *lock = &cpu->own.lock;
	uint64_t wanted = count_now(), spins = 0;
	atomic_store_explicit(&lock->mine->held, 1, memory_order_relaxed);
	lock->waited_on = atomic_exchange_explicit(&cpu->own.kernel->lock.tail, lock->mine, memory_order_acq_rel);
	if (__builtin_expect(atomic_load_explicit(&lock->waited_on->held, memory_order_acquire), 0))
		spins = clh_wait(cpu, lock->waited_on);
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_KERNEL, &lock->acquired, wanted, spins);
}

static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }

static inline void kernel_exit(struct cpu *cpu)
{
	struct lock_cpu *lock = &cpu->own.lock;
	struct clh_node *released = lock->mine;
	count_released(cpu, LOCK_CLASS_KERNEL, lock->acquired);
	lock->mine = lock->waited_on;
	atomic_store_explicit(&released->held, 0, memory_order_release);
}
