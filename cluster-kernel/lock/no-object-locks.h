/* SPDX-License-Identifier: BSD-2-Clause */
/* Object locks of the regimes in which the kernel's lock is lock enough: each entry has the kernel for itself. */
#pragma once

#include <stdbool.h>
#include <skerry/stat.h>
#include <skerry/syscall.h>
#include "no-localities.h"

struct cpu;

struct object_lock {
};

static inline bool kernel_exclusive(struct cpu *cpu) { (void)cpu; return true; }
static inline bool kernel_locks_objects(struct cpu *cpu) { (void)cpu; return true; } /* with locks that are none */
static inline bool kernel_has_readers(void) { return false; }
static inline bool cores_own_queues(void) { return false; }
static inline bool kernel_count_core(struct cpu *cpu, struct cpu *core, bool here)
{
	(void)cpu, (void)core, (void)here;
	return true;
}
static inline bool kernel_granularity(struct cpu *cpu, enum granularity wanted, bool *under_way)
{
	(void)cpu;
	*under_way = false;
	return wanted == GRANULARITY_COARSE;
}
static inline void kernel_exit(struct cpu *cpu);
static inline __attribute__((always_inline)) void kernel_exit_reader(struct cpu *cpu, bool locks)
{
	(void)locks;
	kernel_exit(cpu);
}
static inline void object_lock(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	(void)cpu, (void)lock, (void)class;
}
static inline void object_unlock(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	(void)cpu, (void)lock, (void)class;
}
static inline void object_lock_alone(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	(void)cpu, (void)lock, (void)class;
}
static inline void object_unlock_alone(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	(void)cpu, (void)lock, (void)class;
}
static inline void object_lock_pair(struct cpu *cpu, struct object_lock *a, struct object_lock *b,
                                    enum lock_class class)
{
	(void)cpu, (void)a, (void)b, (void)class;
}
static inline void object_unlock_pair(struct cpu *cpu, struct object_lock *a, struct object_lock *b,
                                      enum lock_class class)
{
	(void)cpu, (void)a, (void)b, (void)class;
}
static inline void object_locks_change(struct cpu *cpu, enum skerry_object type, int change)
{
	(void)cpu, (void)type, (void)change;
}
