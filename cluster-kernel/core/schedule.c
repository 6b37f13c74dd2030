/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule.h"
#include "arch.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "timer.h"
#include "vspace.h"
#include COUNT_HEADER
#include REGIME_HEADER

static struct cpu *core_of(struct cpu *cpu, const struct thread *thread) { return kernel_of(cpu)->cpu[thread->core]; }

static void lock(struct cpu *cpu, struct cpu *home) { object_lock(cpu, &home->shared.ready.lock, LOCK_CLASS_RUN_QUEUE); }
static void unlock(struct cpu *cpu, struct cpu *home) { object_unlock(cpu, &home->shared.ready.lock, LOCK_CLASS_RUN_QUEUE); }

/*
 * With the queue of its core locked. A core decides what it runs with its own queue
 * locked, too: it finds the thread, or what it has chosen is seen here.
 */
static void append(struct cpu *cpu, struct thread *thread)
{
	struct cpu *home = core_of(cpu, thread);
	run_queue_append(&home->shared.ready, thread);
	thread->queued = 1;
	if (home != cpu && (int)thread->priority >= atomic_load_explicit(&home->shared.running, memory_order_relaxed)) {
		/* equal priority too: it must start to count its time slice */
		cpu->own.interrupt_cores |= 1ull << thread->core;
		cpu->own.pending |= PENDING_INTERRUPT;
	}
}

static void enqueue(struct cpu *cpu, struct thread *thread)
{
	struct cpu *home = core_of(cpu, thread);
	lock(cpu, home);
	append(cpu, thread);
	unlock(cpu, home);
}

/* The woken thread, which now needs a place; may be null. */
static struct thread *take_woken(struct cpu *cpu)
{
	struct thread *woken = cpu->own.woken;
	cpu->own.woken = 0;
	return woken;
}

void schedule_settle(struct cpu *cpu)
{
	struct thread *woken = take_woken(cpu);
	if (woken)
		enqueue(cpu, woken);
}

void schedule_queue(struct cpu *cpu, struct thread *thread)
{
	schedule_settle(cpu);
	enqueue(cpu, thread);
}

void schedule_wake_afar(struct cpu *cpu, struct thread *thread)
{
	struct cpu *last = core_of(cpu, thread);
	lock(cpu, last);
	bool stays = thread->core == thread->next_core;
	thread->core = thread->next_core;
	thread_become(thread, THREAD_READY);
	if (stays)
		append(cpu, thread);
	unlock(cpu, last);
	if (stays)
		return;
	if (!cpu->own.woken && thread->core == cpu->own.index)
		cpu->own.woken = thread;
	else
		schedule_queue(cpu, thread);
}

void schedule_unready(struct cpu *cpu, struct thread *thread)
{
	struct cpu *home = core_of(cpu, thread);
	if (thread == cpu->own.woken)
		cpu->own.woken = 0;
	if (!thread->queued)
		return;
	lock(cpu, home);
	run_queue_remove(&home->shared.ready, thread);
	thread->queued = 0;
	unlock(cpu, home);
}

/* Charges the time since the last switch to the thread that ran, or to idleness. */
static void account(struct cpu *cpu, struct thread *previous, struct thread *next)
{
	struct core_stat *stat = cpu->own.stat;
	uint64_t now = arch_time();
	object_lock_pair(cpu, &previous->lock, &next->lock, LOCK_CLASS_TCB);
	schedule_charge(previous, next, now);
	object_unlock_pair(cpu, &previous->lock, &next->lock, LOCK_CLASS_TCB);
	if (next == &cpu->shared.idle) {
		stat->idle_since = now;
	} else if (previous == &cpu->shared.idle) {
		stat->idle_cycles += now - stat->idle_since;
		stat->idle_since = 0;
		stat->updated = now;
	}
}

static void switch_to(struct cpu *cpu, struct thread *next)
{
	struct thread *previous = current(cpu);
	if (next == previous)
		return;
	account(cpu, previous, next);
	if (next != &cpu->shared.idle) {
		cpu->own.vspace_wanted = thread_vspace(next);
		/* whoever destroys it from now on must ask this core */
		vspace_retain_core(cpu->own.vspace_wanted, cpu->own.index);
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
	account(cpu, current(cpu), idle);
	cpu->shared.current = idle;
}

/* The first of the run queue; the idle thread where there is none. */
static __attribute__((noinline)) struct thread *take_queued(struct cpu *cpu)
{
	struct run_queue *ready = &cpu->shared.ready;
	struct thread *woken = take_woken(cpu);
	if (woken)
		append(cpu, woken);
	if (ready->highest < 0)
		return &cpu->shared.idle;
	struct thread *next = run_queue_take(ready);
	next->queued = 0;
	return next;
}

/* The core goes on with the best of the ready. */
static void run_best(struct cpu *cpu)
{
	struct thread *next = cpu->own.woken;
	cpu->own.slice_end = 0;
	if (next && (int)next->priority > cpu->shared.ready.highest)
		cpu->own.woken = 0;
	else
		next = take_queued(cpu);
	switch_to(cpu, next);
}

/* The current thread could go on: must it leave all the same? It is queued then. */
static bool displaced(struct cpu *cpu, struct thread *thread)
{
	const struct thread *woken = cpu->own.woken;
	int priority = thread->priority, best = cpu->shared.ready.highest;
	if (woken && (int)woken->priority > best)
		best = woken->priority;
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
		struct thread *longer = take_woken(cpu); /* waits for longer */
		if (longer)
			append(cpu, longer);
		run_queue_append(&cpu->shared.ready, thread);
	}
	thread->queued = 1;
	return true;
}

/* What others of this cluster and the slice's timer must know: a slice runs only while somebody waits for its end. */
static void chosen(struct cpu *cpu, struct thread *thread)
{
	int running = thread == &cpu->shared.idle ? -1 : thread->priority, highest = cpu->shared.ready.highest;
	atomic_store_explicit(&cpu->shared.running, running, memory_order_relaxed);
	if (highest < 0 || highest != running) {
		cpu->own.slice_end = 0;
	} else if (!cpu->own.slice_end) {
		cpu->own.slice_end = arch_time() + (thread->slice_left ? thread->slice_left : kernel_of(cpu)->slice);
		thread->slice_left = 0;
	}
}

/* With the core's queue locked. Returns a thread that was told to move, and leaves now; or null. */
static struct thread *choose(struct cpu *cpu)
{
	struct thread *thread = current(cpu), *moves = 0;
	/* where cores run in the kernel side by side, another may have woken and even moved it already */
	bool runs = thread_state(thread) == THREAD_READY && (kernel_exclusive(cpu) || thread->core == cpu->own.index) &&
	            !thread->queued; /* of its own core's queue this one has the lock */
	if (runs && thread->core != thread->next_core) {
		thread->core = thread->next_core;
		moves = thread;
	}
	if (!runs || moves || displaced(cpu, thread)) {
		run_best(cpu);
	} else {
		struct thread *woken = take_woken(cpu);
		if (woken)
			append(cpu, woken);
	}
	chosen(cpu, current(cpu));
	return moves;
}

void schedule(struct cpu *cpu)
{
	lock(cpu, cpu);
	struct thread *moves = choose(cpu);
	/*
	 * Setting the timer is dear, and most deadlines are cancelled long before
	 * they pass: a timer that is set too early is left alone. It fires once
	 * for nothing and is then set anew.
	 */
	uint64_t next_entry = timer_next(cpu);
	unlock(cpu, cpu);
	if (next_entry && (!cpu->own.timer_armed || next_entry < cpu->own.timer_armed)) {
		cpu->own.timer_wanted = next_entry;
		cpu->own.pending |= PENDING_TIMER;
	}
	if (moves)
		enqueue(cpu, moves);
}

void schedule_yield(struct cpu *cpu)
{
	lock(cpu, cpu);
	if (cpu->shared.ready.highest == (int)current(cpu)->priority)
		cpu->own.slice_end = 1; /* long over */
	unlock(cpu, cpu);
}
