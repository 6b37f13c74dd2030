/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule.h"
#include "arch.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "timer.h"
#include "vspace.h"
#include COUNT_HEADER

/* Priority of what the core runs; -1 when idle. */
static int running_priority(const struct cpu *cpu)
{
	const struct thread *thread = cpu->shared.current;
	return thread->state == THREAD_READY ? thread->priority : -1;
}

static void enqueue(struct cpu *cpu, struct thread *thread)
{
	struct cpu *home = kernel_of(cpu)->cpu[thread->core];
	object_lock(&home->shared.ready.lock);
	run_queue_append(&home->shared.ready, thread);
	thread->queued = 1;
	object_unlock(&home->shared.ready.lock);
	if (home != cpu && (int)thread->priority >= running_priority(home)) {
		/* equal priority too: it must start to count its time slice */
		cpu->own.interrupt_cores |= 1ull << thread->core;
		cpu->own.pending |= PENDING_INTERRUPT;
	}
}

/* `woken` goes to its queue after all. */
static void enqueue_woken(struct cpu *cpu)
{
	struct thread *woken = cpu->own.woken;
	cpu->own.woken = 0;
	if (woken)
		enqueue(cpu, woken);
}

void schedule_queue(struct cpu *cpu, struct thread *thread)
{
	enqueue_woken(cpu);
	enqueue(cpu, thread);
}

void schedule_unready(struct cpu *cpu, struct thread *thread)
{
	struct run_queue *queue = &kernel_of(cpu)->cpu[thread->core]->shared.ready;
	if (thread == cpu->own.woken)
		cpu->own.woken = 0;
	if (!thread->queued)
		return;
	object_lock(&queue->lock);
	run_queue_remove(queue, thread);
	thread->queued = 0;
	object_unlock(&queue->lock);
}

static void requeue_current(struct cpu *cpu, bool front)
{
	struct thread *thread = current(cpu);
	if (thread->core != thread->next_core) { /* told to move: leaves now */
		thread->core = thread->next_core;
		enqueue(cpu, thread);
		return;
	}
	object_lock(&cpu->shared.ready.lock);
	if (front)
		run_queue_prepend(&cpu->shared.ready, thread);
	else
		run_queue_append(&cpu->shared.ready, thread);
	thread->queued = 1;
	object_unlock(&cpu->shared.ready.lock);
}

/* Charges the time since the last switch to the thread that ran, or to idleness. */
static void account(struct cpu *cpu, struct thread *previous, struct thread *next)
{
	struct core_stat *stat = cpu->own.stat;
	uint64_t now = arch_time();
	schedule_charge(previous, next, now);
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
	enqueue_woken(cpu);
	if (ready->highest < 0)
		return &cpu->shared.idle;
	object_lock(&ready->lock);
	struct thread *next = run_queue_take(ready);
	next->queued = 0;
	object_unlock(&ready->lock);
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
	if (thread->core != thread->next_core) {
		requeue_current(cpu, false);
		return true;
	}
	if (woken && (int)woken->priority > best)
		best = woken->priority;
	if (best < priority)
		return false;
	uint64_t now = arch_time(), end = cpu->own.slice_end;
	bool over = now >= end && end;
	if (best == priority && !over)
		return false;
	thread->slice_left = end && !over ? end - now : 0; /* else it would starve its equals */
	if (over)
		enqueue_woken(cpu); /* which waits for longer */
	requeue_current(cpu, !over);
	return true;
}

/* A slice runs only while somebody waits for its end. */
static void set_slice(struct cpu *cpu)
{
	struct thread *thread = current(cpu);
	if (cpu->shared.ready.highest < 0 || cpu->shared.ready.highest != running_priority(cpu)) {
		cpu->own.slice_end = 0;
	} else if (!cpu->own.slice_end) {
		cpu->own.slice_end = arch_time() + (thread->slice_left ? thread->slice_left : kernel_of(cpu)->slice);
		thread->slice_left = 0;
	}
}

void schedule(struct cpu *cpu)
{
	struct thread *thread = current(cpu);
	bool runs = thread->state == THREAD_READY && !thread->queued;
	if (!runs || displaced(cpu, thread))
		run_best(cpu);
	else
		enqueue_woken(cpu);
	set_slice(cpu);
	/*
	 * Setting the timer is dear, and most deadlines are cancelled long before
	 * they pass: a timer that is set too early is left alone. It fires once
	 * for nothing and is then set anew.
	 */
	uint64_t next_entry = timer_next(cpu);
	if (next_entry && (!cpu->own.timer_armed || next_entry < cpu->own.timer_armed)) {
		cpu->own.timer_wanted = next_entry;
		cpu->own.pending |= PENDING_TIMER;
	}
}

void schedule_yield(struct cpu *cpu)
{
	if (cpu->shared.ready.highest == (int)current(cpu)->priority)
		cpu->own.slice_end = 1; /* long over */
}
