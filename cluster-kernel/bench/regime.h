/* SPDX-License-Identifier: BSD-2-Clause */
/* What the benchmarks know of the regime that they are built with. */
#pragma once

#include <stdbool.h>
#include <string.h>
#include "kernel.h"

/* Its name is its file's. */
static inline bool regime_is(const char *name)
{
	size_t length = strlen(name);
	return !strncmp(REGIME_HEADER, name, length) && !strcmp(REGIME_HEADER + length, ".h");
}

/* `none` runs one core of a kernel. */
static inline bool regime_excludes(void) { return !regime_is("none"); }

/* An entry that must have the kernel for itself, as a system call comes to it. */
static inline void regime_enter_alone(struct cpu *cpu)
{
	kernel_enter(cpu);
	if (kernel_exclusive(cpu))
		return;
	kernel_exit(cpu);
	kernel_enter_exclusive(cpu);
}

/* One object's lock, for threads that enter side by side: a thread's. */
static inline struct object_lock *regime_object(struct cpu *cpu) { return &cpu->shared.idle.lock; }
static inline void regime_lock(struct cpu *cpu, struct object_lock *object)
{
	object_lock(cpu, object, LOCK_CLASS_TCB);
}
static inline void regime_unlock(struct cpu *cpu, struct object_lock *object)
{
	object_unlock(cpu, object, LOCK_CLASS_TCB);
}
