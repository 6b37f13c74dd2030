/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupts to another core because of its threads: only where they change what that core does. Otherwise a program
 * could take a core from threads of higher priority there, by system calls about its own threads.
 */
#pragma once

#include "cpu.h"
#include LOCKING_HEADER

/*
 * Interrupts the core `home` if it would run a thread of this priority at once, or must begin a time slice because of
 * it.
 *
 * Hazard: denial of service. The thread may be suspended again before the core is interrupted, and be resumed, without
 * end. So the core begins the slice it was asked for even if it finds no equal then (schedule_interrupted()), and is not
 * asked again before it has: within a slice, threads of equal priority interrupt it once.
 */
void preempt(struct cpu *cpu, struct cpu *home, int priority) NEEDS(home->shared.ready.lock);
/*
 * Takes back the interrupt of this entry to the core `home` if it was asked for by preempt() alone and no thread needs
 * it any more. A revocation wakes the threads that wait for an endpoint, and then deletes them.
 */
void preempt_withdraw(struct cpu *cpu, struct cpu *home) NEEDS(home->shared.ready.lock);
/* Interrupts the core that runs the thread, if it must do something else because the thread's priority or next core has
 * changed. */
void preempt_changed(struct cpu *cpu, const struct thread *thread);
