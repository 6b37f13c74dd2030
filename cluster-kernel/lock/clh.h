/* SPDX-License-Identifier: BSD-2-Clause */
/* Regime `clh`: one big lock, a CLH queue lock (clh_lock.h; Elphinstone 2016, section 3.2). */
#pragma once

#include COUNT_HEADER
#include "../core/regime.h"
#include "clh_lock.h"
#include "no-object-locks.h"
#include "no-transactions.h"

struct lock_kernel {
	struct clh_lock queue;
};

struct lock_cpu {
	struct clh_place place;
	uint64_t acquired; /* +stat: TSC */
};

static inline void lock_kernel_init(struct kernel *kernel) { clh_lock_init(&lock_of(kernel)->queue); }

static inline void lock_cpu_init(struct cpu *cpu)
{
	clh_place_init(&lock_own(cpu)->place);
	if (core_index(cpu) == 0)
		count_instance(cpu, LOCK_CLASS_KERNEL, 1);
}

static inline void kernel_enter(struct cpu *cpu)
{
	struct lock_cpu *lock = lock_own(cpu);
	uint64_t wanted = count_now();
	uint64_t spins = clh_take(&lock_shared(cpu)->queue, &lock->place, cpu);
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_KERNEL, &lock->acquired, wanted, spins);
}

static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }

static inline void kernel_exit(struct cpu *cpu)
{
	struct lock_cpu *lock = lock_own(cpu);
	count_released(cpu, LOCK_CLASS_KERNEL, lock->acquired);
	clh_release(&lock->place);
}
