/* SPDX-License-Identifier: BSD-2-Clause */
/* Regime `mcs`: one big lock, the queue lock of Mellor-Crummey and Scott (mcs_lock.h). */
#pragma once

#include COUNT_HEADER
#include "../core/regime.h"
#include "mcs_lock.h"
#include "no-object-locks.h"
#include "no-transactions.h"

struct lock_kernel {
	struct mcs_lock queue;
};

struct lock_cpu {
	struct mcs_node node;
	_Alignas(64) uint64_t acquired; /* +stat: TSC; not in the line that the neighbours in the queue write */
};

static inline void lock_kernel_init(struct kernel *kernel) { mcs_lock_init(&lock_of(kernel)->queue); }

static inline void lock_cpu_init(struct cpu *cpu)
{
	if (core_index(cpu) == 0)
		count_instance(cpu, LOCK_CLASS_KERNEL, 1);
}

static inline void kernel_enter(struct cpu *cpu)
{
	uint64_t wanted = count_now();
	uint64_t spins = mcs_take(&lock_shared(cpu)->queue, &lock_own(cpu)->node, cpu);
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_KERNEL, &lock_own(cpu)->acquired, wanted, spins);
}

static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }

static inline void kernel_exit(struct cpu *cpu)
{
	count_released(cpu, LOCK_CLASS_KERNEL, lock_own(cpu)->acquired);
	mcs_release(&lock_shared(cpu)->queue, &lock_own(cpu)->node, cpu);
}
