/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `none`: no lock at all, the papers' baseline. For clusters of one
 * core; the loader refuses it on more.
 */
#pragma once

#include <stdint.h>
#include COUNT_HEADER
#include "../core/regime.h"
#include "no-object-locks.h"
#include "no-transactions.h"

struct lock_kernel {
};

struct lock_cpu {
};

static inline void lock_kernel_init(struct kernel *kernel) { (void)kernel; }
static inline void lock_cpu_init(struct cpu *cpu) { (void)cpu; }
static inline void kernel_enter(struct cpu *cpu) { count_entry(cpu); }
static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }
static inline void kernel_exit(struct cpu *cpu) { (void)cpu; }
