/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selection of the thread that a core runs: priorities, round robin, idle accounting.
 *
 * Where cores own their queues (cores_own_queues()) and entries run side by side, only a thread's core changes
 * the thread's place: its run queue, its deadline and `core`. Another core that wakes the thread pushes it on the
 * requeue list of that core, which it interrupts where this changes what that core does: the thread is of a higher
 * priority than what runs there, or of the same where no time slice runs. That core takes the whole list before
 * it selects what it runs next: it cancels the thread's deadline, and puts the thread into its own run queue or passes
 * it on to the core that the thread is to move to. (Uhlig 2007, section 3.1.) Elsewhere, cores lock each other's run
 * queues.
 *
 * From which priority on a core is to be interrupted is the level of its list (thread_stack.h). At first that is the
 * lowest. Hazard: denial of service. Where threads that were woken have changed nothing of what it does, the core
 * raises the level, and has no interrupt for such ones again until it has run something lower.
 *
 * While the kernel changes, the first push interrupts whatever the priority: the fast path of SIGNAL_WAIT, in a coarse
 * kernel, does not look at the list.
 */
#pragma once

#include "cpu.h"
#include LOCKING_HEADER

/* Charges run time when a core switches between two threads. */
static inline void schedule_charge(struct thread *from, struct thread *to, uint64_t now)
{
	assert_held(&from->lock);
	assert_held(&to->lock);
	kernel_assert(from != to);
	from->time += now;
	to->time -= now;
}

/* Returns whether only another core may change the thread's place. */
static inline bool schedule_foreign(struct cpu *cpu, const struct thread *thread)
{
	return cores_own_queues() && !kernel_exclusive(cpu) && thread->core != cpu->own.index;
}
/* The level of a thread of this priority in a requeue list. */
/*@ requires -1 <= priority < PRIORITIES;
  @ assigns \nothing;
  @ ensures 1 <= \result < STACK_ALWAYS; */
static inline unsigned schedule_level(int priority) { return (unsigned)(priority + 2); }
/* The lowest level of threads that change what the core does; not below 1. */
static inline unsigned schedule_core_level(const struct cpu *cpu)
{
	return schedule_level(atomic_load_explicit(&cpu->shared.running, memory_order_relaxed)) +
	       (cpu->own.slice_end != 0);
}
/* Puts a ready thread into its core's queue; interrupts that core if the thread should preempt. */
void schedule_queue(struct cpu *cpu, struct thread *thread);
/* Puts the thread of the handoff, if there is one, into its core's queue. */
void schedule_flush_wakeups(struct cpu *cpu);
/*
 * schedule_wake() for a thread that another core may be about to leave. Locks the run queue of the core that the thread
 * was on.
 */
void schedule_wake_remote(struct cpu *cpu, struct thread *thread);
/*
 * Makes a thread ready that waits for nothing any more. The first one woken in an entry becomes the handoff: most
 * likely this core runs it next.
 */
static inline void schedule_wake(struct cpu *cpu, struct thread *thread)
{
	kernel_assert(!thread_is(thread, THREAD_IDLE));
	kernel_assert(!thread->queued && (schedule_foreign(cpu, thread) || !thread->in_timers));
	if (!kernel_exclusive(cpu) && thread->core != cpu->own.index) {
		schedule_wake_remote(cpu, thread);
		return;
	}
	/* A thread that is to move leaves its core as soon as it blocks, so it is not current here. */
	kernel_assert(thread != cpu->shared.current || !thread_moves(thread));
	const uint64_t before = thread_state_word(thread);
	thread_become(thread, THREAD_READY);
	bool here = state_word_stays(before, cpu->own.index);
	if (__builtin_expect(here, 1)) {
		if (thread == cpu->shared.current)
			return;
	} else if (thread_moves(thread)) {
		thread_move(thread);
		here = thread->core == cpu->own.index;
	}
	if (here && !cpu->own.handoff)
		cpu->own.handoff = thread;
	else
		schedule_queue(cpu, thread);
}
/* Takes a ready thread out of its run queue or requeue list (it must not be current anywhere). */
void schedule_unready(struct cpu *cpu, struct thread *thread);
/* Decides what this core runs next. Called at the end of every kernel entry. */
void schedule(struct cpu *cpu);
/* The same for an entry by another core's interrupt. Also begins the slice that others have asked for. */
void schedule_interrupted(struct cpu *cpu);
/* Makes the core leave the current thread at once, whatever its state; it idles until it next schedules. */
void schedule_idle(struct cpu *cpu);
/* Puts the current thread behind the others of its priority. */
void schedule_yield(struct cpu *cpu);
