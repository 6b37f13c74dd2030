/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `mcs`: one big lock, the queue lock of Mellor-Crummey and Scott
 * (1991, section 2.4). As fair and as scalable as CLH, but each waiter spins
 * on its own node, which never leaves its core; the price is that the holder
 * must find its successor: a compare-and-swap where nobody waits, and a short
 * wait where somebody has queued but not yet said who it is.
 */
#pragma once

#include <stddef.h>
#include COUNT_HEADER
#include "../core/kernel.h"

static inline void lock_kernel_init(struct kernel *kernel)
{
	atomic_store_explicit(&kernel->lock.tail, NULL, memory_order_relaxed);
}

static inline void lock_cpu_init(struct cpu *cpu)
{
	if (cpu->own.index == 0)
		count_instance(cpu, LOCK_CLASS_KERNEL, 1);
}

/* Out of line, so that who finds the lock free saves no registers. Returns the turns it took. */
static __attribute__((noinline, cold, unused)) uint64_t mcs_wait(struct cpu *cpu, struct mcs_node *before)
{
	struct mcs_node *node = &cpu->own.lock.node;
	uint64_t spins = 0;
	atomic_store_explicit(&node->waits, 1, memory_order_relaxed);
	atomic_store_explicit(&before->next, node, memory_order_release);
	while (atomic_load_explicit(&node->waits, memory_order_acquire)) {
		spins++;
		kernel_relax(cpu);
	}
	return spins;
}

/* Who has queued behind us, but maybe not yet said so. Nobody asks anything of the lock's holder: this only pauses. */
static __attribute__((noinline, cold, unused)) struct mcs_node *mcs_successor(struct cpu *cpu)
{
	struct mcs_node *next;
	while (!(next = atomic_load_explicit(&cpu->own.lock.node.next, memory_order_acquire)))
		kernel_relax(cpu);
	return next;
}

static inline void kernel_enter(struct cpu *cpu)
{
	struct mcs_node *node = &cpu->own.lock.node;
	uint64_t wanted = count_now(), spins = 0;
	atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
	struct mcs_node *before = atomic_exchange_explicit(&cpu->own.kernel->lock.tail, node, memory_order_acq_rel);
	if (__builtin_expect(before != NULL, 0))
		spins = mcs_wait(cpu, before);
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_KERNEL, &cpu->own.lock.acquired, wanted, spins);
}

static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }

static inline void kernel_exit(struct cpu *cpu)
{
	struct mcs_node *node = &cpu->own.lock.node, *last = node;
	count_released(cpu, LOCK_CLASS_KERNEL, cpu->own.lock.acquired);
	struct mcs_node *next = atomic_load_explicit(&node->next, memory_order_acquire);
	if (__builtin_expect(!next, 1)) {
		if (atomic_compare_exchange_strong_explicit(&cpu->own.kernel->lock.tail, &last, NULL, memory_order_release,
		                                            memory_order_relaxed))
			return;
		next = mcs_successor(cpu);
	}
	atomic_store_explicit(&next->waits, 0, memory_order_release);
}
