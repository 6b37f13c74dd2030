/* SPDX-License-Identifier: BSD-2-Clause */
/* The "+stat" image: what struct core_stat (skerry/stat.h) says. Only the core itself writes its record. */
#pragma once

#include <skerry/stat.h>
#include "arch.h"
#include "kernel.h"

static inline uint64_t count_now(void) { return arch_time(); }
static inline void count_entry(struct core_stat *stat) { stat->entries++; }

static inline void count_acquired(struct core_stat *stat, uint64_t *acquired, uint64_t wanted, uint64_t spins)
{
	uint64_t wait = (*acquired = arch_time()) - wanted;
	count_entry(stat);
	stat->lock_grabs++;
	stat->lock_conflicts += spins != 0;
	stat->lock_spins += spins;
	stat->lock_wait += wait;
	if (wait > stat->lock_wait_max)
		stat->lock_wait_max = wait;
}

static inline void count_released(struct core_stat *stat, uint64_t acquired)
{
	uint64_t hold = arch_time() - acquired;
	stat->lock_hold += hold;
	if (hold > stat->lock_hold_max)
		stat->lock_hold_max = hold;
}

static inline void count_event(struct cpu *cpu, uint32_t kind, uint32_t number, uint64_t argument)
{
	struct trace *trace = &cpu->own.trace;
	trace->event[trace->count++ % TRACE_EVENTS] = (struct trace_event){ arch_time(), kind, number, argument };
}

static inline void count_syscall(struct cpu *cpu, uint32_t number, uint64_t cptr)
{
	cpu->own.stat->syscalls++;
	count_event(cpu, TRACE_SYSCALL, number, cptr);
}
static inline void count_interrupt(struct cpu *cpu, uint32_t vector)
{
	cpu->own.stat->interrupts++;
	count_event(cpu, TRACE_INTERRUPT, vector, 0);
}
static inline void count_fault(struct cpu *cpu, uint32_t fault, uint64_t address)
{
	cpu->own.stat->faults++;
	count_event(cpu, TRACE_FAULT, fault, address);
}
static inline void count_switch(struct cpu *cpu, const struct thread *thread)
{
	cpu->own.stat->switches++;
	count_event(cpu, TRACE_SWITCH, 0, (uint64_t)thread);
}
