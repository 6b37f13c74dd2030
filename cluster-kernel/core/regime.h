/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a lock regime (../lock/) knows of the kernel. A regime's types are members of the kernel's structures, so its
 * header comes before them: struct cpu and struct kernel are incomplete there. The functions below lead from them to
 * the regime's own state. They are inline: cpu.h and kernel.h, which define the structures, define them, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/* A turn of a waiting loop: serves what the lock's holder asks of this core (remote.h); null: serves nothing. */
void kernel_relax(struct cpu *cpu);
/* Whether a core is on its way out of this kernel, or into it (core_move.h). */
bool kernel_cores_move(struct cpu *cpu);
/* These cores are interrupted at once: each begins an entry. The caller has the kernel for itself, or is about to. */
void kernel_interrupt_now(struct cpu *cpu, uint64_t cores);
/* At the end of this entry all cores are interrupted, this one included (remote.h). */
void kernel_interrupt_all(struct cpu *cpu);
