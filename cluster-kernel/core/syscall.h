/* SPDX-License-Identifier: BSD-2-Clause */
/* What an entry into the kernel does, between kernel_enter and kernel_exit. */
#pragma once

#include <stdint.h>

struct cpu;
struct thread;

/* The current thread made a system call; its arguments are in its context. Takes and releases the lock. */
void kernel_syscall(struct cpu *cpu);
/* The same after the fast path (fastpath.h) has taken the lock and declined. */
void kernel_syscall_entered(struct cpu *cpu);
/* Makes the system call that the registers of `thread` say, its own core's or a visitor's (visit.h). Returns its
 * result, or one of outcome.h. */
uint64_t syscall_make(struct cpu *cpu, struct thread *thread);
/* The current thread raised an exception. */
void kernel_fault(struct cpu *cpu, unsigned fault, unsigned count, const uint64_t *words);
/* Interrupts, while a thread runs or the core idles. */
void kernel_timer(struct cpu *cpu);
void kernel_irq(struct cpu *cpu, unsigned number);
void kernel_doorbell(struct cpu *cpu);
/* Another core of the cluster wants this one to look at its run queue. */
void kernel_reschedule(struct cpu *cpu);
