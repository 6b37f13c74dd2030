/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the kernel that a lock regime (../lock/) may use. A regime's types are members of the kernel's
 * structures, so its header comes before them: struct cpu and struct kernel are incomplete there. The functions below
 * lead from them to the regime's own state. They are inline: cpu.h and kernel.h, which define the structures, define
 * them, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct core_set;
struct core_stat;
struct cpu;
struct kernel;
struct trace;

/* A definition that is only ever inlined, of a function that has been declared before. */
#define INLINE_LATER extern inline __attribute__((gnu_inline, always_inline))

struct lock_kernel *lock_of(struct kernel *kernel);  /* kernel->lock */
struct lock_kernel *lock_shared(struct cpu *cpu);    /* the lock of the core's kernel */
struct lock_cpu *lock_own(struct cpu *cpu);          /* cpu->own.lock */
uint32_t core_index(struct cpu *cpu);                /* in its cluster, from 0 */
bool core_is_present(struct cpu *cpu);               /* it is the kernel's, and is not told to leave */
uint32_t kernel_cluster(const struct kernel *kernel);

/* For the counting image (../lock/count/). */
struct core_stat *core_statistics(struct cpu *cpu);
struct trace *core_trace(struct cpu *cpu);

/*
 * One turn of a waiting loop. Serves remote calls of the lock's holder to this core (remote.h); with null it serves
 * none.
 */
void kernel_relax(struct cpu *cpu);
/* Returns whether a core is on its way out of this kernel, or into it (core_move.h). */
bool kernel_cores_move(struct cpu *cpu);
/* Interrupts these cores at once, so that each begins an entry. The caller's entry is exclusive, or is becoming so. */
void kernel_interrupt_now(struct cpu *cpu, const struct core_set *cores);
/* Interrupts all cores at the end of this entry, this one included (remote.h). */
void kernel_interrupt_all(struct cpu *cpu);
