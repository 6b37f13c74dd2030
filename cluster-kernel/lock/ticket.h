/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `ticket`: one big lock, a ticket lock (ticket_lock.h). Fair, and small. But all waiters spin on one line. Each
 * release invalidates it in all of them, and they fetch it again one after the other; on average the next holder's
 * fetch is in the middle. So the more cores wait, the longer a hand-over takes, and the more cores wait: beyond some
 * number of cores throughput collapses (Boyd-Wickizer et al. 2012). The waiting loop does not back off, since this
 * regime exists to show the collapse.
 */
#pragma once

#include COUNT_HEADER
#include "../core/regime.h"
#include "no-object-locks.h"
#include "no-transactions.h"
#include "ticket_lock.h"

/* Both counters in one line, as kernels have had them: taking a ticket invalidates the line in every spinner. */
struct lock_kernel {
	_Alignas(64) struct ticket_lock ticket;
};

struct lock_cpu {
	uint32_t ticket;   /* this core's, from kernel_enter() to kernel_exit() */
	uint64_t acquired; /* +stat: TSC */
};

static inline void lock_kernel_init(struct kernel *kernel) { ticket_lock_init(&lock_of(kernel)->ticket); }

static inline void lock_cpu_init(struct cpu *cpu)
{
	if (core_index(cpu) == 0)
		count_instance(cpu, LOCK_CLASS_KERNEL, 1);
}

static inline void kernel_enter(struct cpu *cpu)
{
	struct lock_cpu *lock = lock_own(cpu);
	uint64_t wanted = count_now();
	uint64_t spins = ticket_take(&lock_shared(cpu)->ticket, &lock->ticket, cpu);
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_KERNEL, &lock->acquired, wanted, spins);
}

static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }

static inline void kernel_exit(struct cpu *cpu)
{
	count_released(cpu, LOCK_CLASS_KERNEL, lock_own(cpu)->acquired);
	ticket_release(&lock_shared(cpu)->ticket, lock_own(cpu)->ticket);
}
