/* SPDX-License-Identifier: BSD-2-Clause */
/* A lock that excludes but knows no order: what the explorer must say of it is that a core overtook another. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include "../cluster-kernel/core/regime.h"
#include "no-object-locks.h"
#include "no-transactions.h"

struct lock_kernel {
	_Atomic uint32_t held;
};

struct lock_cpu {
};

static inline void lock_kernel_init(struct kernel *kernel)
{
	atomic_store_explicit(&lock_of(kernel)->held, 0, memory_order_relaxed);
}
static inline void lock_cpu_init(struct cpu *cpu) { (void)cpu; }

static inline void kernel_enter(struct cpu *cpu)
{
	uint32_t free = 0;
	while (!atomic_compare_exchange_strong_explicit(&lock_shared(cpu)->held, &free, 1, memory_order_acquire,
	                                                memory_order_relaxed)) {
		free = 0;
		kernel_relax(cpu);
	}
}
static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }

static inline void kernel_exit(struct cpu *cpu)
{
	atomic_store_explicit(&lock_shared(cpu)->held, 0, memory_order_release);
}
