/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlines of the threads of one core: a leftist heap (Crane 1972) for each
 * priority, so that adding and cancelling take a number of steps that grows
 * with the logarithm of how many wait; and above the heaps a tournament tree:
 * first[PRIORITIES + p] is no later than the earliest deadline of priority p,
 * first[i] the earlier of first[2i] and first[2i + 1].
 *
 * A program that waits for requests is woken long before its deadline, and often waits for the same deadline again. So
 * a cancelled deadline stays in the tree: first[] may hold one that no thread waits for. The fast path of SIGNAL_WAIT
 * leaves the thread in the heap, too: it is *kept* until it waits with a deadline again, is suspended or destroyed, or
 * gets another priority or core. When such a deadline passes, the core enters once for nothing and corrects heap and
 * tree.
 *
 * Threads are woken in the order of their priority, and none below the running priority. So however many deadlines pass
 * together, a thread of higher priority waits for one work budget at most, and then runs. The rest are due when the
 * running priority falls to theirs; schedule() sets the timer then. A thread that is to leave for another core counts
 * as of the highest priority: its priority says nothing about what runs here.
 */
#pragma once

#include "cpu.h"

/* Adds the thread's deadline (TSC): its wait ends with TIMED_OUT then. */
void timer_add(struct cpu *cpu, struct thread *thread, uint64_t deadline);
/* The notification is locked, if the thread waits there. The deadline of a schedule_foreign() thread is left to its
 * core. */
void timer_cancel(struct cpu *cpu, struct thread *thread);
/* The same for a thread that another core has woken, so that it waits for no notification any more. */
void timer_drop(struct cpu *cpu, struct thread *thread);
/* Ends the wait of a thread of this core and keeps it in the heap. The entry has the kernel for itself. */
static inline void timer_keep(const struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	kernel_assert(!(thread->timer.kept && thread->in_timers) && thread->core == cpu->own.index &&
	              !thread_moves(thread));
	thread->timer.kept |= thread->in_timers;
	thread->in_timers = 0;
}
/* Returns whether a thread that was kept waits for the same deadline again; nothing else has to be done then.
 * Likewise. */
static inline bool timer_again(struct thread *thread, uint64_t deadline)
{
	if (!thread->timer.kept || thread->deadline != deadline)
		return false;
	kernel_assert(thread->timer.level == thread->priority && !thread->in_timers);
	thread->timer.kept = false;
	thread->in_timers = 1;
	return true;
}
/* Takes the thread out of the heap if it was kept: before its priority or core change, and before it is suspended. */
void timer_forget(struct cpu *cpu, struct thread *thread);
/*
 * For a thread with a deadline whose priority or next core has changed. Moves it to its next core, unless this core
 * holds its registers. Its wait ends at once if the deadline has passed.
 */
void timer_requeue(struct cpu *cpu, struct thread *thread);
/*
 * Interrupts `home` to set its timer for `time` (0: never), unless the timer is set for then or an earlier time.
 * Hazard: denial of service. The thread with that deadline may be lowered or moved before the core is interrupted, and
 * raised again, without end. So the deadline stays in the tree, and the core sets its timer for it: no deadline
 * interrupts a core twice.
 */
void timer_ask(struct cpu *cpu, struct cpu *home, uint64_t time) NEEDS(home->shared.ready.lock);
/*
 * Wakes the threads of this core whose deadline has passed and whose priority is not below the current thread's, the
 * highest first, within the entry's work budget. Sets writer_wanted where the next one waits for a notification that is
 * away.
 */
void timer_expire(struct cpu *cpu);
/* Of two times that may be 0: never. */
/*@ assigns \nothing;
  @ ensures one: \result == a || \result == b;
  @ ensures never: \result == 0 ==> a == 0 && b == 0;
  @ ensures earlier: (a > 0 ==> 0 < \result <= a) && (b > 0 ==> 0 < \result <= b); */
static inline uint64_t timer_earlier(uint64_t a, uint64_t b) { return b && (!a || b < a) ? b : a; }
/* Returns the lowest priority whose deadlines matter now: that of the current thread. */
static inline unsigned timer_lowest(const struct cpu *cpu)
{
	const struct thread *thread = cpu->shared.current;
	return thread == &cpu->shared.idle ? 0 : thread->priority;
}
/* With the run queue locked: the earliest deadline that matters now, or an earlier time; 0: none. */
uint64_t timer_first(const struct cpu *cpu) NEEDS(cpu->shared.ready.lock);
/* Likewise: TSC at which this core must enter the kernel again; 0: never. */
uint64_t timer_next(const struct cpu *cpu) NEEDS(cpu->shared.ready.lock);
/* The same or earlier: as if deadlines of all priorities concerned the core. */
static inline uint64_t timer_bound(const struct cpu *cpu)
{
	uint64_t next = cpu->own.slice_end, deadline = cpu->shared.timers.first[1];
	return timer_earlier(timer_earlier(next, deadline), cpu->own.housekeeping_at);
}
/* After `cleanup_at`, `poll_at`, `report_at` or `visits_at` were set. */
static inline void timer_housekeeping(struct cpu *cpu)
{
	uint64_t first = timer_earlier(cpu->own.cleanup_at, timer_earlier(cpu->own.poll_at, cpu->own.report_at));
	cpu->own.housekeeping_at = timer_earlier(first, cpu->own.visits_at);
}
