/* SPDX-License-Identifier: BSD-2-Clause */
/* Who runs: priorities, round robin, deadlines, idle accounting. */
#pragma once

#include <stdint.h>

#include "thread.h"

/* A core goes from one thread to the other: run time. */
static inline void schedule_charge(struct thread *from, struct thread *to, uint64_t now)
{
	from->time += now;
	to->time -= now;
}

/* Makes a thread that waits for nothing ready on its core, and interrupts that core if it must. */
void schedule_wake(struct cpu *cpu, struct thread *thread);
/* Takes a ready thread out of its run queue (it must not be current anywhere). */
void schedule_unready(struct cpu *cpu, struct thread *thread);
/* At the end of every kernel entry: decides what this core runs next. */
void schedule(struct cpu *cpu);
/* The current thread leaves the core at once, whatever its state; the core idles until it next schedules. */
void schedule_idle(struct cpu *cpu);
/* The current thread goes behind the others of its priority. */
void schedule_yield(struct cpu *cpu);

/* The thread's wait ends with TIMED_OUT at `deadline` (TSC). */
void timer_add(struct cpu *cpu, struct thread *thread, uint64_t deadline);
void timer_cancel(struct cpu *cpu, struct thread *thread);
/* Wakes all threads of this core whose deadline has passed. */
void timer_expire(struct cpu *cpu);
/* TSC at which this core must enter the kernel again; 0: never. */
uint64_t timer_next(struct cpu *cpu);
