/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `fine`: a big-reader lock (brlock.h) and ticket locks (Elphinstone 2016, section 3.3). Messages, signals,
 * interrupts, scheduling and mappings in domains are readers, which run side by side. Only the locks of the TCBs, reply
 * objects, endpoints, notifications and run queues that they touch order them. An entry that makes, moves or destroys
 * an object or a capability is a writer, and alone. So an object that a reader has found cannot be destroyed under it.
 *
 *     to read     the core's own side, whose line no other core touches
 *                 unless there is a writer
 *     to write    the lock of the writers, then every core's side
 *
 * An entry begins as a reader. If it must write, it releases its side before it has changed anything, and begins anew
 * as the writer (core/syscall.c).
 */
#pragma once

#include COUNT_HEADER
#include "../core/regime.h"
#include "brlock.h"
#include "no-transactions.h"
#include "object-locks.h"

struct lock_kernel {
	struct brlock readers;
};

struct lock_cpu {
	_Alignas(64) struct object_lock side; /* of the big-reader lock */
	_Alignas(64) bool exclusive; /* this entry holds all */
	uint64_t acquired;           /* +stat: TSC, of the write side */
};

#define INLINE static inline __attribute__((always_inline))

static inline void lock_kernel_init(struct kernel *kernel) { brlock_init(&lock_of(kernel)->readers); }

static inline void lock_cpu_init(struct cpu *cpu)
{
	brlock_join(&lock_shared(cpu)->readers, &lock_own(cpu)->side.ticket);
	if (core_index(cpu) == 0) {
		count_instance(cpu, LOCK_CLASS_READ, 1);
		count_instance(cpu, LOCK_CLASS_WRITE, 1);
	}
	count_instance(cpu, LOCK_CLASS_RUN_QUEUE, 1);
	count_instance(cpu, LOCK_CLASS_TCB, 1); /* the idle thread's */
}

/* Whether this entry is the writer. */
static inline bool kernel_exclusive(struct cpu *cpu) { return lock_own(cpu)->exclusive; }
INLINE bool kernel_locks_objects(struct cpu *cpu) { (void)cpu; return true; }
INLINE bool cores_own_queues(void) { return false; }
static inline bool kernel_count_core(struct cpu *cpu, struct cpu *core, bool here)
{
	(void)cpu, (void)core, (void)here;
	return true;
}
static inline bool kernel_granularity(struct cpu *cpu, enum granularity wanted, bool *under_way)
{
	(void)cpu;
	*under_way = false;
	return wanted == GRANULARITY_FINE;
}

INLINE void kernel_enter(struct cpu *cpu)
{
	struct object_lock *side = &lock_own(cpu)->side;
	uint64_t wanted = count_now();
	uint64_t spins = brlock_read(&side->ticket, cpu);
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_READ, &side->acquired, wanted, spins);
}

/* Upgrades from reader to writer; releases the core's own side first. */
static __attribute__((noinline, cold, unused)) void kernel_enter_exclusive(struct cpu *cpu)
{
	uint64_t wanted = count_now();
	struct brlock_conflict conflict = brlock_write(&lock_shared(cpu)->readers, cpu);
	lock_own(cpu)->exclusive = true;
	if (conflict.spins)
		count_write_conflict(cpu, conflict.writer, conflict.readers);
	count_acquired(cpu, LOCK_CLASS_WRITE, &lock_own(cpu)->acquired, wanted, conflict.spins);
}

static __attribute__((noinline, cold, unused)) void fine_exit_exclusive(struct cpu *cpu)
{
	lock_own(cpu)->exclusive = false;
	count_released(cpu, LOCK_CLASS_WRITE, lock_own(cpu)->acquired);
	brlock_write_end(&lock_shared(cpu)->readers);
}

INLINE void kernel_exit_reader(struct cpu *cpu, bool locks)
{
	(void)locks;
	count_released(cpu, LOCK_CLASS_READ, lock_own(cpu)->side.acquired);
	brlock_read_end(&lock_own(cpu)->side.ticket);
}

INLINE void kernel_exit(struct cpu *cpu)
{
	if (__builtin_expect(lock_own(cpu)->exclusive, 0))
		fine_exit_exclusive(cpu);
	else
		kernel_exit_reader(cpu, true);
}

#undef INLINE
