/* SPDX-License-Identifier: BSD-2-Clause */
/* The plain image counts nothing: all of this compiles to nothing. */
#pragma once

#include <skerry/stat.h>
#include "kernel.h"

static inline uint64_t count_now(void) { return 0; }
static inline void count_entry(struct core_stat *stat) { (void)stat; }
static inline void count_acquired(struct core_stat *stat, uint64_t *acquired, uint64_t wanted, uint64_t spins)
{
	(void)stat, (void)acquired, (void)wanted, (void)spins;
}
static inline void count_released(struct core_stat *stat, uint64_t acquired) { (void)stat, (void)acquired; }
static inline void count_syscall(struct cpu *cpu, uint32_t number, uint64_t cptr) { (void)cpu, (void)number, (void)cptr; }
static inline void count_interrupt(struct cpu *cpu, uint32_t vector) { (void)cpu, (void)vector; }
static inline void count_fault(struct cpu *cpu, uint32_t fault, uint64_t address) { (void)cpu, (void)fault, (void)address; }
static inline void count_switch(struct cpu *cpu, const struct thread *thread) { (void)cpu, (void)thread; }
