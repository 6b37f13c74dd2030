/* SPDX-License-Identifier: BSD-2-Clause */
/* The plain image counts nothing: these functions compile to nothing. */
#pragma once

#include <stdbool.h>
#include <skerry/stat.h>

struct cpu;
struct thread;

static inline uint64_t count_now(void) { return 0; }
static inline void count_acquired(struct cpu *cpu, enum lock_class class, uint64_t *acquired, uint64_t wanted,
                                  uint64_t spins)
{
	(void)cpu, (void)class, (void)acquired, (void)wanted, (void)spins;
}
static inline void count_released(struct cpu *cpu, enum lock_class class, uint64_t acquired)
{
	(void)cpu, (void)class, (void)acquired;
}
static inline void count_write_conflict(struct cpu *cpu, bool writer, uint64_t readers)
{
	(void)cpu, (void)writer, (void)readers;
}
static inline void count_instance(struct cpu *cpu, enum lock_class class, int change)
{
	(void)cpu, (void)class, (void)change;
}
static inline void count_begun(struct cpu *cpu) { (void)cpu; }
static inline void count_committed(struct cpu *cpu) { (void)cpu; }
static inline void count_aborted(struct cpu *cpu, enum abort_cause cause) { (void)cpu, (void)cause; }
static inline void count_fallback(struct cpu *cpu) { (void)cpu; }
static inline void count_entry(struct cpu *cpu) { (void)cpu; }
static inline void count_syscall(struct cpu *cpu, uint32_t number, uint64_t cptr)
{
	(void)cpu, (void)number, (void)cptr;
}
static inline void count_interrupt(struct cpu *cpu, uint32_t vector) { (void)cpu, (void)vector; }
static inline void count_fault(struct cpu *cpu, uint32_t fault, uint64_t address)
{
	(void)cpu, (void)fault, (void)address;
}
static inline void count_switch(struct cpu *cpu, const struct thread *thread) { (void)cpu, (void)thread; }
