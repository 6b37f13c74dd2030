/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `fine`: a big-reader lock and ticket locks (Elphinstone 2016, section
 * 3.3). Messages, signals, interrupts and scheduling are readers, which run side
 * by side: all that stands between them are the locks of the TCBs, reply
 * objects, endpoints, notifications and run queues they touch. Whatever makes,
 * moves or destroys an object or a capability is the writer, and alone; so what
 * a reader has found does not go away.
 *
 *     to read     the core's own side, whose line no other core touches
 *                 unless there is a writer
 *     to write    every core's side, in the order of their numbers
 *
 * Object locks are taken in this order, two of one kind in the order of their
 * addresses:
 *
 *     notification, endpoint, reply object, run queue, TCB
 *
 * An entry begins as a reader. If it must write, it gives up its side before it
 * has done anything, and begins anew as the writer (core/syscall.c).
 */
#pragma once

#include COUNT_HEADER
#include "../core/kernel.h"

static inline void lock_kernel_init(struct kernel *kernel) { (void)kernel; }

static inline void lock_cpu_init(struct cpu *cpu)
{
	if (cpu->own.index == 0) {
		count_instance(cpu, LOCK_CLASS_READ, 1);
		count_instance(cpu, LOCK_CLASS_WRITE, 1);
	}
	count_instance(cpu, LOCK_CLASS_RUN_QUEUE, 1);
	count_instance(cpu, LOCK_CLASS_TCB, 1); /* the idle thread's */
}

/* Whether this entry is the writer. */
static inline bool kernel_exclusive(const struct cpu *cpu) { return cpu->own.lock.exclusive; }

/* Turns of waiting for `ticket`. Who waits for a reader's side serves the writer meanwhile; an object lock's holder asks nothing. */
static __attribute__((noinline, cold, unused)) uint64_t fine_wait(struct cpu *cpu, const struct object_lock *lock, uint32_t ticket)
{
	uint64_t spins = 0;
	while (atomic_load_explicit(&lock->serving, memory_order_acquire) != ticket) {
		spins++;
		kernel_relax(cpu);
	}
	return spins;
}

/* Returns the turns it took. */
static inline __attribute__((always_inline)) uint64_t fine_take(struct cpu *cpu, struct object_lock *lock)
{
	uint32_t ticket = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
	if (__builtin_expect(atomic_load_explicit(&lock->serving, memory_order_acquire) != ticket, 0))
		return fine_wait(cpu, lock, ticket);
	return 0;
}

static inline __attribute__((always_inline)) void fine_give(struct object_lock *lock)
{
	uint32_t serving = atomic_load_explicit(&lock->serving, memory_order_relaxed);
	atomic_store_explicit(&lock->serving, serving + 1, memory_order_release);
}

static inline void kernel_enter(struct cpu *cpu)
{
	struct object_lock *side = &cpu->own.lock.side;
	uint64_t wanted = count_now();
	uint64_t spins = fine_take(cpu, side);
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_READ, &side->acquired, wanted, spins);
}

/* Instead of reading: the core's own side is given up before. */
static __attribute__((noinline, cold, unused)) void kernel_enter_exclusive(struct cpu *cpu)
{
	struct kernel *kernel = kernel_of(cpu);
	uint64_t wanted = count_now(), spins = 0, readers = 0;
	bool writer = false;
	for (unsigned i = 0; i < kernel->cpu_count; i++) {
		uint64_t turns = fine_take(cpu, &kernel->cpu[i]->own.lock.side);
		/* who comes second waits for a writer at the first side, and for readers at the others */
		writer |= turns && !i;
		readers += turns && i;
		spins += turns;
	}
	cpu->own.lock.exclusive = true;
	if (spins)
		count_write_conflict(cpu, writer, readers);
	count_acquired(cpu, LOCK_CLASS_WRITE, &cpu->own.lock.acquired, wanted, spins);
}

static __attribute__((noinline, cold, unused)) void fine_exit_exclusive(struct cpu *cpu)
{
	struct kernel *kernel = kernel_of(cpu);
	cpu->own.lock.exclusive = false;
	count_released(cpu, LOCK_CLASS_WRITE, cpu->own.lock.acquired);
	for (unsigned i = kernel->cpu_count; i-- > 0;)
		fine_give(&kernel->cpu[i]->own.lock.side);
}

static inline void kernel_exit(struct cpu *cpu)
{
	if (__builtin_expect(cpu->own.lock.exclusive, 0)) {
		fine_exit_exclusive(cpu);
		return;
	}
	count_released(cpu, LOCK_CLASS_READ, cpu->own.lock.side.acquired);
	fine_give(&cpu->own.lock.side);
}

static inline void object_lock(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	uint64_t wanted = count_now();
	uint64_t spins = fine_take(cpu, lock);
	count_acquired(cpu, class, &lock->acquired, wanted, spins);
}

static inline void object_unlock(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	count_released(cpu, class, lock->acquired);
	fine_give(lock);
}

static inline void object_lock_pair(struct cpu *cpu, struct object_lock *a, struct object_lock *b, enum lock_class class)
{
	object_lock(cpu, a < b ? a : b, class);
	object_lock(cpu, a < b ? b : a, class);
}

static inline void object_unlock_pair(struct cpu *cpu, struct object_lock *a, struct object_lock *b, enum lock_class class)
{
	object_unlock(cpu, a, class);
	object_unlock(cpu, b, class);
}

/* An object begins (+1) or ceases (-1) to be. */
static inline void object_locks_change(struct cpu *cpu, enum skerry_object type, int change)
{
	if (type == OBJECT_TCB || type == OBJECT_REPLY)
		count_instance(cpu, LOCK_CLASS_TCB, change);
	else if (type == OBJECT_ENDPOINT)
		count_instance(cpu, LOCK_CLASS_ENDPOINT, change);
	else if (type == OBJECT_NOTIFICATION)
		count_instance(cpu, LOCK_CLASS_NOTIFICATION, change);
}
