/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The "+stat" image: fills struct core_stat (skerry/stat.h). Only the core itself writes its record, so nothing here is
 * atomic.
 *
 * A regime calls count_entry() once in each kernel entry, whatever locks it takes. It counts transactions outside of
 * them. What the kernel counts within a transaction is counted only if that transaction commits.
 */
#pragma once

#include <stdbool.h>
#include <skerry/stat.h>
#include "arch.h"
#include "../../core/regime.h"
#include "trace.h"

static inline uint64_t count_now(void) { return arch_time(); }

static inline void count_bucket(uint64_t log2[STAT_BUCKETS], uint64_t cycles)
{
	unsigned bucket = 63 - (unsigned)__builtin_clzll(cycles | 1);
	log2[bucket < STAT_BUCKETS ? bucket : STAT_BUCKETS - 1]++;
}

/*
 * Counts an acquisition: this core began to wait at `wanted` (count_now()) and has the lock after `spins` turns; 0 if
 * it was free.
 */
static inline void count_acquired(struct cpu *cpu, enum lock_class class, uint64_t *acquired, uint64_t wanted,
                                  uint64_t spins)
{
	struct lock_stat *stat = &core_statistics(cpu)->lock[class];
	uint64_t wait = (*acquired = arch_time()) - wanted;
	stat->acquisitions++;
	stat->conflicts += spins != 0;
	stat->spins += spins;
	if (spins > stat->spins_max)
		stat->spins_max = spins;
	stat->wait += wait;
	if (wait > stat->wait_max)
		stat->wait_max = wait;
	count_bucket(stat->wait_log2, wait);
}

/* To be called while the lock is still held. */
static inline void count_released(struct cpu *cpu, enum lock_class class, uint64_t acquired)
{
	struct lock_stat *stat = &core_statistics(cpu)->lock[class];
	uint64_t hold = arch_time() - acquired;
	stat->hold += hold;
	if (hold > stat->hold_max)
		stat->hold_max = hold;
	count_bucket(stat->hold_log2, hold);
}

/* Counts the reason of a contended acquisition of LOCK_CLASS_WRITE. */
static inline void count_write_conflict(struct cpu *cpu, bool writer, uint64_t readers)
{
	struct writer_stat *stat = &core_statistics(cpu)->writers;
	stat->after_writer += writer;
	stat->after_readers += readers != 0;
	stat->readers += readers;
	if (readers > stat->readers_max)
		stat->readers_max = readers;
}

/* A lock begins (+1) or ceases (-1) to be. */
static inline void count_instance(struct cpu *cpu, enum lock_class class, int change)
{
	core_statistics(cpu)->lock[class].instances += change;
}

static inline void count_begun(struct cpu *cpu) { core_statistics(cpu)->transactions.begun++; }
static inline void count_committed(struct cpu *cpu) { core_statistics(cpu)->transactions.committed++; }
static inline void count_aborted(struct cpu *cpu, enum abort_cause cause)
{
	core_statistics(cpu)->transactions.aborted[cause]++;
}
static inline void count_fallback(struct cpu *cpu) { core_statistics(cpu)->transactions.fallbacks++; }

static inline void count_entry(struct cpu *cpu) { core_statistics(cpu)->entries++; }

static inline void count_event(struct cpu *cpu, uint32_t kind, uint32_t number, uint64_t argument)
{
	struct trace *trace = core_trace(cpu);
	uint64_t now = core_statistics(cpu)->latest = arch_time();
	trace->event[trace->count++ % TRACE_EVENTS] = (struct trace_event){ now, kind, number, argument };
}

static inline void count_syscall(struct cpu *cpu, uint32_t number, uint64_t cptr)
{
	core_statistics(cpu)->syscalls++;
	count_event(cpu, TRACE_SYSCALL, number, cptr);
}
static inline void count_interrupt(struct cpu *cpu, uint32_t vector)
{
	core_statistics(cpu)->interrupts++;
	count_event(cpu, TRACE_INTERRUPT, vector, 0);
}
static inline void count_fault(struct cpu *cpu, uint32_t fault, uint64_t address)
{
	core_statistics(cpu)->faults++;
	count_event(cpu, TRACE_FAULT, fault, address);
}
static inline void count_switch(struct cpu *cpu, const struct thread *thread)
{
	core_statistics(cpu)->switches++;
	count_event(cpu, TRACE_SWITCH, 0, (uint64_t)thread);
}
