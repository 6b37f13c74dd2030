/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path of SIGNAL_WAIT: a program wakes its peer and sleeps until the
 * peer wakes it, as a client and its server do over a cable. It is taken when
 * all of this holds; else the slow path (syscall.c) does the system call.
 *
 *     the entry          has the kernel for itself
 *     the CSpace         of one level
 *     the notifications  two, of which the one to signal is bound to no thread
 *     the woken thread   there is none, or it belongs to this core and stays
 *     the next thread    the current one, which need not wait (a signal is
 *                        pending, or the deadline has passed); or the woken one;
 *                        or the first of the run queue. It may run at once: it
 *                        stays on this core, its time slice is not over, its
 *                        address space needs no TLB flush
 *     the timer          need not be set for an earlier time
 *
 * Both paths have the same outcome: the thread that runs next, the order of the
 * run queue, time slices and deadlines are the same. Nothing is written before
 * all of this is known, so declining means only returning.
 *
 * Where entries run side by side, this one is no reader's, so objects are looked at
 * before their locks are taken, and one lock at a time is enough.
 */
#pragma once

#include "fastpath.h"
#include "run_queue.h"
#include "timer.h"

#define INLINE static inline __attribute__((always_inline))

/* What the entry will do; filled without a write to an object. */
struct fast_wait {
	struct notification *own, *other; /* waited for, signalled */
	uint64_t badge, deadline, now;
	struct thread *woken; /* waits for `other`; null: nobody does */
	struct thread *next;
	struct vspace *vspace; /* of another `next` than the current thread */
	uint64_t slice_end;    /* 0: no other thread of `next`'s priority is ready */
	bool new_slice;        /* `slice_end` is of a slice that begins now */
	bool direct;           /* `next` is `woken`, which is in no queue */
};

INLINE bool find_notifications(const struct thread *thread, uint64_t cptr, uint64_t signal_cptr, struct fast_wait *wait)
{
	const struct cap *cap, *signal;
	if (!flat_lookup(thread, cptr, &cap) || cap->type != OBJECT_NOTIFICATION || !(cap->rights & RIGHT_READ) ||
	    !flat_lookup(thread, signal_cptr, &signal) || signal->type != OBJECT_NOTIFICATION ||
	    !(signal->rights & RIGHT_WRITE))
		return false;
	wait->own = (struct notification *)cap->object;
	wait->other = (struct notification *)signal->object;
	wait->badge = signal->badge ? signal->badge : 1;
	return wait->own != wait->other && !wait->other->bound;
}

/* Returns whether the thread that waits may be made ready here; it may have a deadline. */
INLINE bool may_wake(const struct cpu *cpu, const struct thread *thread)
{
	return (thread_state_word(thread) & ~STATE_IN_TIMERS) == blocked_state_word(cpu->own.index, THREAD_WAITING);
}

/* The end of the time slice that begins now. */
INLINE uint64_t new_slice(struct cpu *cpu, const struct thread *thread, uint64_t now)
{
	return now + (thread->slice_left ? thread->slice_left : kernel_of(cpu)->slice);
}

/* The current thread need not wait. Returns whether it goes on, as preempted() and publish_running() have it
 * (schedule.c). */
INLINE bool may_go_on(struct cpu *cpu, const struct thread *thread, struct fast_wait *wait)
{
	const int priority = thread->priority, woken = wait->woken ? wait->woken->priority : -1;
	const int highest = cpu->shared.ready.highest;
	const bool equals = woken == priority || highest == priority;
	const uint64_t end = cpu->own.slice_end;
	if (woken > priority || highest > priority || (equals && end && wait->now >= end) ||
	    thread_moves(thread))
		return false;
	wait->new_slice = equals && !end;
	wait->slice_end = !equals ? 0 : end ? end : new_slice(cpu, thread, wait->now);
	return true;
}

/* The current thread waits. Finds the one that runs next, as run_best() and publish_running() do. */
INLINE bool find_next(struct cpu *cpu, struct fast_wait *wait)
{
	const struct run_queue *ready = &cpu->shared.ready;
	const int highest = ready->highest, woken = wait->woken ? wait->woken->priority : -1;
	bool equals = false;
	wait->direct = woken > highest;
	if (wait->direct) {
		wait->next = wait->woken;
	} else {
		if (highest < 0)
			return false;
		wait->next = ready->level[highest].head;
		equals = wait->next->next || woken == highest;
		/* by the core that it comes from */
		if (atomic_load_explicit(&wait->next->loaded, memory_order_acquire))
			return false;
	}
	wait->new_slice = equals;
	wait->slice_end = equals ? new_slice(cpu, wait->next, wait->now) : 0;
	wait->vspace = thread_vspace(wait->next);
	return wait->vspace && vspace_tlb_is_valid(cpu, wait->vspace);
}

/* Of two times that may be 0: never. */
INLINE bool no_earlier(uint64_t time, uint64_t than) { return time - 1 >= than - 1; }

/* Returns whether the timer need not be set: timer_bound() with the slice and the deadline of this entry. */
INLINE bool keeps_timer(const struct cpu *cpu, uint64_t slice_end, uint64_t deadline)
{
	const uint64_t armed = cpu->own.timer_armed;
	return no_earlier(slice_end, armed) && no_earlier(deadline, armed) &&
	       no_earlier(cpu->shared.timers.first[1], armed) &&
	       no_earlier(cpu->own.housekeeping_at, armed);
}

/* Without a waiter the word stays pending, as after SIGNAL. */
INLINE void signal_other(struct cpu *cpu, struct fast_wait *wait, const enum fast_guard guard)
{
	struct thread *woken = wait->woken;
	if (!woken) {
		wait->other->word |= wait->badge;
		return;
	}
	fast_take(cpu, &wait->other->lock, LOCK_CLASS_NOTIFICATION, guard);
	kernel_assert(!wait->other->word && thread_notification(woken) == wait->other && !woken->queued);
	timer_keep(cpu, woken);
	thread_queue_take(&wait->other->waiters, woken);
	atomic_store_explicit(&woken->notification, 0, memory_order_relaxed);
	context_set_badge(&woken->context, wait->badge);
	context_set_info(&woken->context, 0);
	context_set_result(&woken->context, SKERRY_OK);
	thread_become(woken, THREAD_READY);
	fast_release(cpu, &wait->other->lock, LOCK_CLASS_NOTIFICATION, guard);
}

INLINE void wait_for_own(struct cpu *cpu, struct thread *thread, struct fast_wait *wait, const enum fast_guard guard)
{
	fast_take(cpu, &wait->own->lock, LOCK_CLASS_NOTIFICATION, guard);
	context_set_syscall(&thread->context, SYS_WAIT); /* if it is made again, then without the signal */
	thread_waits_for(thread, wait->own);
	thread_queue_append(&wait->own->waiters, thread);
	if (wait->deadline && !timer_again(thread, wait->deadline))
		timer_add(cpu, thread, wait->deadline);
	fast_release(cpu, &wait->own->lock, LOCK_CLASS_NOTIFICATION, guard);
}

/* The result of a wait that has ended before it began. */
INLINE void end_wait(struct cpu *cpu, struct thread *thread, struct fast_wait *wait, const enum fast_guard guard)
{
	fast_take(cpu, &wait->own->lock, LOCK_CLASS_NOTIFICATION, guard);
	context_set_result(&thread->context, wait->own->word ? SKERRY_OK : SKERRY_TIMED_OUT);
	if (wait->own->word) {
		context_set_badge(&thread->context, wait->own->word);
		context_set_info(&thread->context, 0);
		wait->own->word = 0;
	}
	fast_release(cpu, &wait->own->lock, LOCK_CLASS_NOTIFICATION, guard);
}

/* Queues `woken`, and takes `next`, the first of the run queue. Either may be null. */
INLINE void queue_and_take(struct run_queue *ready, struct thread *woken, struct thread *next)
{
	kernel_assert(!next || next == ready->level[ready->highest].head);
	if (woken && next && woken->priority == next->priority) {
		run_queue_exchange(ready, woken);
		woken->queued = THREAD_QUEUED;
		next->queued = 0;
		return;
	}
	if (woken) {
		run_queue_append(ready, woken);
		woken->queued = THREAD_QUEUED;
	}
	if (next) {
		run_queue_take(ready);
		next->queued = 0;
	}
}

/* `next` is or becomes the current thread; the woken one is queued if it is not that. */
INLINE void run_next(struct cpu *cpu, struct thread *thread, struct fast_wait *wait, const enum fast_guard guard)
{
	struct run_queue *ready = &cpu->shared.ready;
	struct thread *next = wait->next;
	fast_take(cpu, &ready->lock, LOCK_CLASS_RUN_QUEUE, guard);
	if (!wait->direct)
		queue_and_take(ready, wait->woken, next != thread ? next : 0);
	kernel_assert(next->core == cpu->own.index && !next->queued && !next->in_timers);
	kernel_assert(!wait->slice_end == (ready->highest != (int)next->priority));
	if (wait->new_slice)
		next->slice_left = 0;
	cpu->own.slice_end = wait->slice_end;
	atomic_store_explicit(&cpu->shared.running, next->priority, memory_order_relaxed);
	if (next != thread) {
		fast_take_threads(cpu, thread, next, guard);
		schedule_charge(thread, next, wait->now);
		fast_release_threads(cpu, thread, next, guard);
		cpu->shared.current = next;
		count_switch(cpu, next);
	}
	fast_release(cpu, &ready->lock, LOCK_CLASS_RUN_QUEUE, guard);
}

/* fastpath_signal_wait() with the lock held. */
INLINE const struct context *signal_wait_entered(struct cpu *cpu, struct thread *thread, uint64_t cptr,
                                                 uint64_t signal_cptr,
                                                 const enum fast_guard guard, bool *goes_on)
{
	struct fast_wait wait = { .deadline = context_word(&thread->context, 0) };
	if (cpu->own.pending || !find_notifications(thread, cptr, signal_cptr, &wait))
		return 0;
	wait.woken = wait.other->waiters.head;
	if (wait.woken && !may_wake(cpu, wait.woken))
		return 0;
	wait.now = arch_time();
	const bool ended = wait.own->word || (wait.deadline && wait.deadline <= wait.now);
	if (ended ? !may_go_on(cpu, thread, &wait) : !find_next(cpu, &wait))
		return 0;
	if (!keeps_timer(cpu, wait.slice_end, ended ? 0 : wait.deadline))
		return 0;
	kernel_assert(!cpu->own.handoff && !thread->in_timers && thread_is(thread, THREAD_READY));
	count_syscall(cpu, SYS_SIGNAL_WAIT, cptr);
	signal_other(cpu, &wait, guard);
	if (ended) {
		wait.next = thread;
		end_wait(cpu, thread, &wait, guard);
		run_next(cpu, thread, &wait, guard);
		kernel_exit_reader(cpu, guard == FAST_LOCKS);
		*goes_on = true;
		return &thread->context;
	}
	wait_for_own(cpu, thread, &wait, guard);
	run_next(cpu, thread, &wait, guard);
	return fast_leave(cpu, thread, wait.next, wait.vspace, guard);
}

/*
 * The current thread signals `signal_cptr`, then waits for `cptr` until the
 * deadline in its first message word. As fastpath_call() in what it returns and
 * in how it declines. Sets *goes_on if the registers are the current thread's; if
 * not, they may be of a thread that was interrupted.
 */
INLINE const struct context *fastpath_signal_wait(struct cpu *cpu, uint64_t cptr, uint64_t signal_cptr, bool *goes_on)
{
	kernel_enter(cpu);
	if (!kernel_exclusive(cpu))
		return 0;
	return kernel_locks_objects(cpu)
	       ? signal_wait_entered(cpu, current(cpu), cptr, signal_cptr, FAST_LOCKS, goes_on)
	                                 : signal_wait_entered(cpu, current(cpu), cptr, signal_cptr, FAST_KERNEL,
	                                                       goes_on);
}

#undef INLINE
