/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `ticket`: one big lock, a ticket lock (Reed and Kanodia 1979;
 * Mellor-Crummey and Scott 1991, section 2.2). Fair, and small: two counters.
 * But all who wait spin on one line, which each release takes from all of
 * them; each fetches it again, one after the other, and the next holder's
 * fetch stands on average in the middle. So the hand-over takes longer the
 * more cores wait, which makes more cores wait: beyond some number of them
 * throughput collapses (Boyd-Wickizer et al. 2012). The waiting loop does not
 * back off, for that is what this regime is to show.
 */
#pragma once

#include COUNT_HEADER
#include "../core/kernel.h"

static inline void lock_kernel_init(struct kernel *kernel)
{
	atomic_store_explicit(&kernel->lock.next, 0, memory_order_relaxed);
	atomic_store_explicit(&kernel->lock.serving, 0, memory_order_relaxed);
}

static inline void lock_cpu_init(struct cpu *cpu)
{
	if (cpu->own.index == 0)
		count_instance(cpu, LOCK_CLASS_KERNEL, 1);
}

/* Out of line, so that who finds the lock free saves no registers. Returns the turns it took. */
static __attribute__((noinline, cold, unused)) uint64_t ticket_wait(struct cpu *cpu, struct lock_kernel *lock, uint32_t ticket)
{
	uint64_t spins = 0;
	while (atomic_load_explicit(&lock->serving, memory_order_acquire) != ticket) {
		spins++;
		kernel_relax(cpu);
	}
	return spins;
}

static inline void kernel_enter(struct cpu *cpu)
{
	struct lock_kernel *lock = &cpu->own.kernel->lock;
	uint64_t wanted = count_now(), spins = 0;
	/* Relaxed: a ticket only says whose turn it is, what it guards comes with `serving`. */
	uint32_t ticket = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
	if (__builtin_expect(atomic_load_explicit(&lock->serving, memory_order_acquire) != ticket, 0))
		spins = ticket_wait(cpu, lock, ticket);
	cpu->own.lock.ticket = ticket;
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_KERNEL, &cpu->own.lock.acquired, wanted, spins);
}

static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }

static inline void kernel_exit(struct cpu *cpu)
{
	count_released(cpu, LOCK_CLASS_KERNEL, cpu->own.lock.acquired);
	/* The holder's own ticket is what `serving` says: there is no need to fetch the line before it is written. */
	atomic_store_explicit(&cpu->own.kernel->lock.serving, cpu->own.lock.ticket + 1, memory_order_release);
}
