/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines of the threads of one core: a leftist heap (Crane 1972), so that
 * adding and cancelling take a number of steps that grows with the logarithm
 * of how many wait.
 */
#pragma once

#include "cpu.h"

/* The thread's wait ends with TIMED_OUT at `deadline` (TSC). */
void timer_add(struct cpu *cpu, struct thread *thread, uint64_t deadline);
/* The notification is locked, if the thread waits there. */
void timer_cancel(struct cpu *cpu, struct thread *thread);
/* Wakes the threads of this core whose deadline has passed, as many as the entry's quantum allows. */
void timer_expire(struct cpu *cpu);
/* Of two times that may be 0: never. */
static inline uint64_t timer_earlier(uint64_t a, uint64_t b) { return b && (!a || b < a) ? b : a; }
/* With the run queue locked: TSC at which this core must enter the kernel again; 0: never. */
static inline uint64_t timer_next(const struct cpu *cpu)
{
	uint64_t next = cpu->own.slice_end, deadline = cpu->shared.timers ? cpu->shared.timers->deadline : 0;
	return timer_earlier(timer_earlier(next, deadline), cpu->own.chore_at);
}
/* After `bury_at` or `look_at` were set. */
static inline void timer_chores(struct cpu *cpu)
{
	cpu->own.chore_at = timer_earlier(cpu->own.bury_at, cpu->own.look_at);
}
