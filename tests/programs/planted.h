/* SPDX-License-Identifier: BSD-2-Clause */
/* Regime clh with a mistake: each core counts its entries in a word of its own, and the words share a line. */
#pragma once

#include <skerry/boot.h>
#include COUNT_HEADER
#include "../../cluster-kernel/core/regime.h"
#include "clh_lock.h"
#include "no-object-locks.h"
#include "no-transactions.h"

struct lock_kernel {
	struct clh_lock queue;
};

struct lock_cpu {
	struct clh_place place;
};

/* One for each source that enters the kernel; that of the fast path is hot. */
static _Alignas(64) volatile uint64_t planted[BOOT_MAX_CPUS];

static inline void lock_kernel_init(struct kernel *kernel) { clh_lock_init(&lock_of(kernel)->queue); }
static inline void lock_cpu_init(struct cpu *cpu) { clh_place_init(&lock_own(cpu)->place); }

static inline void kernel_enter(struct cpu *cpu)
{
	clh_take(&lock_shared(cpu)->queue, &lock_own(cpu)->place, cpu);
	count_entry(cpu);
}

static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }

static inline void kernel_exit(struct cpu *cpu)
{
	planted[core_index(cpu)]++;
	clh_release(&lock_own(cpu)->place);
}
