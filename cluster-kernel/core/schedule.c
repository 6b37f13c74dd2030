/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule.h"
#include "annotations.h"
#include "arch.h"
#include "idle.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "preempt.h"
#include "timer.h"
#include "visit.h"
#include "vspace.h"
#include "work.h"
#include COUNT_HEADER
#include LOCKING_HEADER

static struct cpu *core_of(struct cpu *cpu, const struct thread *thread)
{
	kernel_assert(thread->core < kernel_of(cpu)->cpu_count);
	return kernel_of(cpu)->cpu[thread->core];
}

static void queue_lock(struct cpu *cpu, struct cpu *home) TAKES(home->shared.ready.lock);
static void queue_unlock(struct cpu *cpu, struct cpu *home) RELEASES(home->shared.ready.lock);

static void switch_to(struct cpu *cpu, struct thread *next) NEEDS(cpu->shared.ready.lock);
static struct thread *take_queued(struct cpu *cpu) NEEDS(cpu->shared.ready.lock);
static void run_best(struct cpu *cpu) NEEDS(cpu->shared.ready.lock);
static bool is_preempted(struct cpu *cpu, struct thread *thread) NEEDS(cpu->shared.ready.lock);
static void publish_running(struct cpu *cpu, struct thread *thread) NEEDS(cpu->shared.ready.lock);
static struct thread *pick_next(struct cpu *cpu) NEEDS(cpu->shared.ready.lock);
static void set_timer(struct cpu *cpu) NEEDS(cpu->shared.ready.lock);

NO_LOCK_ANALYSIS static void queue_lock(struct cpu *cpu, struct cpu *home)
{
	kernel_assert(home == cpu || !cores_own_queues() || kernel_exclusive(cpu));
	object_lock(cpu, &home->shared.ready.lock, LOCK_CLASS_RUN_QUEUE);
}
NO_LOCK_ANALYSIS static void queue_unlock(struct cpu *cpu, struct cpu *home)
{
	object_unlock(cpu, &home->shared.ready.lock, LOCK_CLASS_RUN_QUEUE);
}

/*
 * The caller holds the run-queue lock of the thread's core. That core selects its next thread, and publishes its
 * priority in `running`, under the same lock. So either it finds this thread in the queue, or preempt() reads
 * what it has published and the core is interrupted: no wake-up is lost. The lock orders both, `running` is relaxed.
 */
static void queue_append(struct cpu *cpu, struct thread *thread)
{
	struct cpu *home = core_of(cpu, thread);
	assert_held(&home->shared.ready.lock);
	kernel_assert(thread != &home->shared.idle);
	run_queue_append(&home->shared.ready, thread);
	thread->queued = THREAD_QUEUED;
	if (home != cpu)
		preempt(cpu, home, thread->priority);
}

/*
 * Hands a THREAD_REQUEUED thread to its core. From the push on, only that core may touch it. One that is to leave that
 * core cannot wait until that one looks: its priority says nothing about what runs there.
 */
static void remote_requeue(struct cpu *cpu, struct thread *thread)
{
	struct cpu *home = core_of(cpu, thread);
	unsigned core = thread->core;
	kernel_assert(home != cpu && thread->queued == THREAD_REQUEUED);
	const bool waits = kernel_is_fine(cpu) && !thread_moves(thread);
	if (thread_stack_push(&home->shared.requeue, thread, waits ? schedule_level(thread->priority) : STACK_ALWAYS))
		cpu_interrupt(cpu, core);
}

static void queue_enqueue(struct cpu *cpu, struct thread *thread)
{
	struct cpu *home = core_of(cpu, thread);
	if (schedule_foreign(cpu, thread)) {
		thread->queued = THREAD_REQUEUED;
		remote_requeue(cpu, thread);
		return;
	}
	queue_lock(cpu, home);
	queue_append(cpu, thread);
	queue_unlock(cpu, home);
}

/* Returns the thread of the handoff, which now needs a place; may be null. */
static struct thread *take_handoff(struct cpu *cpu)
{
	struct thread *handoff = cpu->own.handoff;
	cpu->own.handoff = 0;
	return handoff;
}

void schedule_flush_wakeups(struct cpu *cpu)
{
	struct thread *handoff = take_handoff(cpu);
	if (handoff)
		queue_enqueue(cpu, handoff);
}

void schedule_queue(struct cpu *cpu, struct thread *thread)
{
	schedule_flush_wakeups(cpu);
	queue_enqueue(cpu, thread);
}

void schedule_wake_remote(struct cpu *cpu, struct thread *thread)
{
	assert_entered();
	kernel_assert(!kernel_exclusive(cpu));
	struct cpu *last = core_of(cpu, thread);
	if (cores_own_queues()) {
		/*
		 * before it becomes ready: else its core, if it has not left the thread yet, could run it while it is
		 * in the list
		 */
		thread->queued = THREAD_REQUEUED;
		thread_become(thread, THREAD_READY);
		remote_requeue(cpu, thread);
		return;
	}
	queue_lock(cpu, last);
	bool stays = !thread_moves(thread);
	thread_move(thread);
	thread_become(thread, THREAD_READY);
	if (stays)
		queue_append(cpu, thread);
	queue_unlock(cpu, last);
	if (stays)
		return;
	if (!cpu->own.handoff && thread->core == cpu->own.index)
		cpu->own.handoff = thread;
	else
		schedule_queue(cpu, thread);
}

void schedule_unready(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	struct cpu *home = core_of(cpu, thread);
	if (thread == cpu->own.handoff)
		cpu->own.handoff = 0;
	if (!thread->queued)
		return;
	if (thread->queued == THREAD_REQUEUED) {
		unsigned looked = 0;
		/* a long list is taken by its core, which has been interrupted: so no search takes much longer */
		const uint64_t word = thread_stack_word(&home->shared.requeue);
		kernel_assert(stack_count(word) < STACK_LONG || stack_level(word) == STACK_ASKED);
		(void)word;
		/* it has interrupted its core: as in preempt() */
		if (schedule_level(thread->priority) == schedule_core_level(home))
			home->shared.slice_asked = true;
		thread_stack_remove(&home->shared.requeue, thread, home->own.requeue_level, &looked);
		work_done(cpu, (int)looked * WORK_LOOK);
		thread->queued = 0;
		timer_drop(cpu, thread);
		return;
	}
	queue_lock(cpu, home);
	run_queue_remove(&home->shared.ready, thread);
	thread->queued = 0;
	preempt_withdraw(cpu, home);
	queue_unlock(cpu, home);
}

/*
 * Places the threads that other cores have woken: in this core's queue, or in another core's requeue list. Hazard: a
 * thread on two cores. A thread that this core has not left yet is not passed on, since the other core could run it at
 * once; pick_next() finds that it still runs.
 */
static __attribute__((noinline)) void take_requeued(struct cpu *cpu)
{
	struct thread *thread, *next;
	cpu->own.requeue_before = current(cpu);
	cpu->own.requeue_level = schedule_level(-1);
	for (thread = thread_stack_take(&cpu->shared.requeue, cpu->own.requeue_level); thread; thread = next) {
		next = thread->next;
		kernel_assert(thread->queued == THREAD_REQUEUED && thread->core == cpu->own.index);
		thread->queued = 0;
		timer_drop(cpu, thread);
		if (thread == current(cpu))
			continue;
		thread_move(thread);
		queue_enqueue(cpu, thread);
	}
}

/*
 * Out of line: switches between threads save no registers for it. Reads the clock itself, after the sequence is odd
 * (idle.h).
 */
__attribute__((cold, noinline)) static uint64_t account_idle(struct core_stat *stat, bool begins)
{
	return begins ? idle_begin(stat, arch_time) : idle_end(stat, arch_time);
}

/*
 * Charges the time since the last switch to the thread that ran, or to idleness. Both sides of a switch use one reading
 * of the clock: with two, the time between them would be counted twice, and a host may stop the core there for
 * milliseconds.
 */
static void account_switch(struct cpu *cpu, struct thread *previous, struct thread *next)
{
	uint64_t now;
	if (next == &cpu->shared.idle)
		now = account_idle(cpu->own.stat, true);
	else if (previous == &cpu->shared.idle)
		now = account_idle(cpu->own.stat, false);
	else
		now = arch_time();
	object_lock_pair(cpu, &previous->lock, &next->lock, LOCK_CLASS_TCB);
	schedule_charge(previous, next, now);
	object_unlock_pair(cpu, &previous->lock, &next->lock, LOCK_CLASS_TCB);
}

static void switch_to(struct cpu *cpu, struct thread *next)
{
	assert_held(&cpu->shared.ready.lock);
	struct thread *previous = current(cpu);
	if (next == previous)
		return;
	kernel_assert(next == &cpu->shared.idle || (thread_is(next, THREAD_READY) && next->core == cpu->own.index));
	kernel_assert(!next->queued && !next->in_timers);
	account_switch(cpu, previous, next);
	if (next != &cpu->shared.idle) {
		cpu->own.vspace_wanted = thread_vspace(next);
		/* from now on a core that destroys the space asks this core to unload it */
		vspace_retain_core(cpu, cpu->own.vspace_wanted);
	} else {
		visits_idle(cpu);
	}
	cpu->shared.current = next;
	cpu->own.pending |= PENDING_SWITCH;
	count_switch(cpu, next);
}

void schedule_idle(struct cpu *cpu)
{
	struct thread *idle = &cpu->shared.idle;
	if (current(cpu) == idle)
		return;
	account_switch(cpu, current(cpu), idle);
	cpu->shared.current = idle;
}

/* Takes the first thread of the run queue; returns the idle thread if there is none. */
static __attribute__((noinline)) struct thread *take_queued(struct cpu *cpu)
{
	assert_held(&cpu->shared.ready.lock);
	struct thread *handoff = take_handoff(cpu);
	if (handoff)
		queue_append(cpu, handoff);
	if (cpu->shared.ready.highest < 0)
		return &cpu->shared.idle;
	struct thread *next = run_queue_take(&cpu->shared.ready);
	next->queued = 0;
	return next;
}

/* Switches to the ready thread of the highest priority. */
static void run_best(struct cpu *cpu)
{
	assert_held(&cpu->shared.ready.lock);
	struct thread *next = cpu->own.handoff;
	cpu->own.slice_end = 0;
	if (next && (int)next->priority > cpu->shared.ready.highest)
		cpu->own.handoff = 0;
	else
		next = take_queued(cpu);
	switch_to(cpu, next);
}

/* Returns whether the current thread, which could go on, is preempted; it has been requeued then. */
static bool is_preempted(struct cpu *cpu, struct thread *thread)
{
	assert_held(&cpu->shared.ready.lock);
	kernel_assert(thread == current(cpu) && thread != &cpu->shared.idle);
	const struct thread *handoff = cpu->own.handoff;
	int priority = thread->priority, best = cpu->shared.ready.highest;
	if (handoff && (int)handoff->priority > best)
		best = handoff->priority;
	if (best < priority)
		return false;
	uint64_t now = arch_time(), end = cpu->own.slice_end;
	bool over = now >= end && end;
	if (best == priority && !over)
		return false;
	thread->slice_left = end && !over ? end - now : 0; /* else it would starve its equals */
	if (!over) {
		run_queue_prepend(&cpu->shared.ready, thread);
	} else {
		struct thread *longer = take_handoff(cpu); /* waits for longer */
		if (longer)
			queue_append(cpu, longer);
		run_queue_append(&cpu->shared.ready, thread);
	}
	thread->queued = THREAD_QUEUED;
	return true;
}

static void begin_slice(struct cpu *cpu, struct thread *thread)
{
	cpu->own.slice_end = arch_time() + (thread->slice_left ? thread->slice_left : kernel_of(cpu)->slice);
	thread->slice_left = 0;
}

/* Publishes the running priority for other cores. The slice runs only while an equal-priority thread is ready. */
static void publish_running(struct cpu *cpu, struct thread *thread)
{
	assert_held(&cpu->shared.ready.lock);
	kernel_assert(!cpu->own.handoff && thread == current(cpu));
	int running = thread == &cpu->shared.idle ? -1 : thread->priority, highest = cpu->shared.ready.highest;
	atomic_store_explicit(&cpu->shared.running, running, memory_order_relaxed);
	if (highest < 0 || highest != running) {
		cpu->own.slice_end = 0;
	} else if (!cpu->own.slice_end) {
		begin_slice(cpu, thread);
	}
}

/* Selects the next thread. The caller holds the core's run-queue lock. Returns a thread that moves to another core now,
 * or null. */
static struct thread *pick_next(struct cpu *cpu)
{
	assert_held(&cpu->shared.ready.lock);
	struct thread *thread = current(cpu), *moves = 0;
	/* beside readers: another core may have woken the thread and even moved it since */
	bool runs = thread_state(thread) == THREAD_READY && (kernel_exclusive(cpu) || thread->core == cpu->own.index) &&
	            !thread->queued; /* safe: `queued` of a thread of this core changes only under the lock that this core holds */
	if (runs && thread_moves(thread)) {
		thread_move(thread);
		moves = thread;
	}
	if (!runs || moves || is_preempted(cpu, thread)) {
		run_best(cpu);
	} else {
		struct thread *handoff = take_handoff(cpu);
		if (handoff)
			queue_append(cpu, handoff);
	}
	publish_running(cpu, current(cpu));
	return moves;
}

/* The timer is to be set for `time`; 0: never. */
static inline bool timer_before(const struct cpu *cpu, uint64_t time)
{
	return time && (!cpu->own.timer_armed || time < cpu->own.timer_armed);
}

static __attribute__((noinline)) void set_timer(struct cpu *cpu)
{
	assert_held(&cpu->shared.ready.lock);
	uint64_t next = timer_next(cpu);
	if (!timer_before(cpu, next))
		return;
	cpu->own.timer_wanted = next;
	cpu->own.pending |= PENDING_TIMER;
}

/*
 * From now on threads of this level and above that are woken interrupt this core. Hazard: lost wake-up. One that has
 * interrupted nobody may have come since the core took its list: then the core comes back.
 */
static void set_level(struct cpu *cpu, unsigned level)
{
	if (!thread_stack_set_level(&cpu->shared.requeue, &cpu->own.requeue_level, level))
		cpu_interrupt(cpu, cpu->own.index);
}

/* Says which threads concern this core, if it has said something else, or has had some that change nothing. A coarse
 * kernel, in which none come, has no levels. */
static __attribute__((noinline)) void settle_level(struct cpu *cpu)
{
	const unsigned level = kernel_is_coarse(cpu) ? 0 : schedule_core_level(cpu);
	const unsigned found = stack_level(thread_stack_word(&cpu->shared.requeue));
	const bool in_vain = cpu->own.requeue_before == current(cpu);
	cpu->own.requeue_before = 0;
	if (in_vain || found > level)
		set_level(cpu, level);
}

void schedule(struct cpu *cpu)
{
	assert_entered();
	kernel_assert(!cpu->shared.owed.count && !cpu->own.requeue_before);
	if (cores_own_queues() && !thread_stack_empty(&cpu->shared.requeue))
		take_requeued(cpu);
	queue_lock(cpu, cpu);
	struct thread *moves = pick_next(cpu);
	/*
	 * Setting the timer is expensive, and most deadlines are cancelled long before
	 * they pass: a timer that is set too early is left alone. It fires once
	 * for nothing and is then set anew.
	 */
	if (timer_before(cpu, timer_bound(cpu)))
		set_timer(cpu);
	queue_unlock(cpu, cpu);
	if (moves)
		queue_enqueue(cpu, moves);
	if (cores_own_queues() && thread_stack_word(&cpu->shared.requeue))
		settle_level(cpu);
}

void schedule_interrupted(struct cpu *cpu)
{
	schedule(cpu);
	queue_lock(cpu, cpu);
	const bool begins = cpu->shared.slice_asked && !cpu->own.slice_end && current(cpu) != &cpu->shared.idle;
	if (begins) {
		begin_slice(cpu, current(cpu));
		set_timer(cpu);
	}
	cpu->shared.slice_asked = false;
	queue_unlock(cpu, cpu);
	if (cores_own_queues() && begins && !kernel_is_coarse(cpu))
		set_level(cpu, schedule_core_level(cpu));
}

void schedule_yield(struct cpu *cpu)
{
	assert_entered();
	kernel_assert(current(cpu) != &cpu->shared.idle);
	queue_lock(cpu, cpu);
	if (cpu->shared.ready.highest == (int)current(cpu)->priority)
		cpu->own.slice_end = 1; /* long over */
	queue_unlock(cpu, cpu);
}
