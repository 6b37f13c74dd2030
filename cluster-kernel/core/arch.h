/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port contract: all that core/ asks of the machine. Two ports fulfil it, arch-x86_64 (the machine) and arch-hosted
 * (a process, memory an arena). The port also provides arch_context.h (struct context and its accessors,
 * ARCH_FPU_SIZE); context_restart() there makes a thread whose system call has not been decoded yet make that call
 * again when it next runs. Where it has entered by a trap (an exception whose RIP is behind the instruction, so that
 * going on would not raise it again), that is raised again, once; the thread's new registers (context_write()) end it.
 * context_restart_call() does the first only.
 *
 * "This core" is the calling core. Interrupts are off in all of these.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "arch_inline.h" /* the inline functions listed below */

struct boot_controlled;
struct boot_cores;
struct core_set;
struct cpu;
struct kernel;
struct thread;

/* inline: uint64_t arch_direct_base(void)      kernel address of physical address 0
 *         uint64_t arch_time(void)             TSC, the same on all cores
 *         void arch_relax(void)                one turn of a waiting loop
 *         void arch_copy(to, from, size)       copies bytes of the direct map, a multiple of 8
 *         void arch_flush_tlb(void)            all user translations of this core
 *         void arch_flush_kernel(void)         all translations of this core, the direct map's included
 *         bool arch_pte_present(uint64_t)      the entry maps or leads somewhere
 *         bool arch_pte_is_table(uint64_t)     it leads to a lower table
 *         uint64_t arch_pte_address(uint64_t, level)  physical address in it
 *         uint64_t arch_pte_table(paddr)       an entry that leads to a table
 *         uint64_t arch_pte_frame(paddr, level, rights, attributes)
 *         unsigned arch_pte_rights(uint64_t)   with which it maps a frame: READ among them
 *         uint64_t arch_pte_protect(uint64_t, rights)  the same with other rights, READ among them
 */

/*
 * Gives a new root table the kernel's half. Returns vspace->loads. A TLB tag is `id` modulo KERNEL_VSPACES, so no two
 * live spaces share one.
 */
uint64_t arch_vspace_init(uint64_t *root, uint64_t id);

/* Fresh FPU state, ARCH_FPU_SIZE bytes, 64-byte aligned, zeroed before. */
void arch_fpu_init(uint8_t *fpu);

/*
 * The work recorded in cpu->own.pending, after the lock: loads the current thread's address space, FPU state and
 * segment bases (waiting until another core has saved them, if one still does), sets the timer to timer_wanted,
 * interrupts other cores and other clusters. With PENDING_REST, one pending interrupt is taken before a timer that is
 * due already.
 */
void arch_finish(struct cpu *cpu);

/* This core saves the state of the thread it holds, if any, and loads the kernel's address space. */
void arch_unload(struct cpu *cpu);
/* This core loads the kernel's address space; the thread's state stays loaded. */
void arch_unload_vspace(struct cpu *cpu);

/* Interrupts cores of this cluster at once: each calls remote_serve(), then kernel_reschedule(). */
void arch_interrupt_cores(struct cpu *cpu, const struct core_set *cores);

/*
 * Resets the cores of another cluster (a bit for each) and sends them to the loader. Does not wait for their arrival.
 * The boot processor goes only while its cluster's control word says that it is claimed.
 */
void arch_fence_cores(struct kernel *kernel, const struct boot_controlled *target,
                      const struct boot_cores *cores);

/*
 * This core, which is idle, leaves the kernel for the loader (core_move.h). In the hosted port this returns; the core
 * must not enter the kernel again then.
 */
void arch_leave_kernel(struct cpu *cpu);

/*
 * The direct map, in pieces of 2 MiB, `base` a multiple of that. Returns how many of them it has in one entry each;
 * ARCH_NO_TABLE where memory there cannot come into it.
 */
enum { ARCH_NO_TABLE = UINT32_MAX };
uint32_t arch_direct_count(const struct kernel *kernel, uint64_t base, uint32_t pieces);
/*
 * Maps or unmaps these pieces in the direct map. The caller flushes the TLBs. Caller holds the kernel alone; either
 * none or all of the pieces are mapped.
 */
void arch_direct_set(struct kernel *kernel, uint64_t base, uint32_t pieces, bool mapped);

/* Devices. `number` is that of irq_arrived(). */
bool arch_gsi_exists(const struct kernel *kernel, uint64_t gsi);
void arch_gsi_route(struct kernel *kernel, uint64_t gsi, uint32_t core, unsigned number, bool level, bool low);
void arch_gsi_mask(struct kernel *kernel, uint64_t gsi, bool masked);
void arch_msi_message(const struct kernel *kernel, uint32_t core, unsigned number, uint64_t *address, uint64_t *data);
uint64_t arch_port_in(uint16_t port, unsigned size);
void arch_port_out(uint16_t port, unsigned size, uint64_t value);

/* One byte to the debug console; waits for room. */
void arch_console_put(char c);
/* Returns whether the caller need not wait: there is room for a byte, the console is stuck, or there is none. */
bool arch_console_ready(void);

/* The core that executes this; null before it has a struct cpu. Builds with assertions have it (assert.h). */
struct cpu *arch_this_cpu(void);

/* For errors that the kernel cannot survive: reports, parks all cores of this cluster, never returns. */
_Noreturn void arch_panic(const char *reason);
/* Stops this core for good: it spins, or is reset by INIT. For tests of failure detection. */
_Noreturn void arch_hang(void);
_Noreturn void arch_init_self(void);
