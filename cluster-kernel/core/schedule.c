/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule.h"
#include "arch.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
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

void schedule_wake(struct cpu *cpu, struct thread *thread)
{
	thread->state = THREAD_READY;
	thread->core = thread->next_core;
	if (thread != current(cpu))
		enqueue(cpu, thread);
}

void schedule_unready(struct cpu *cpu, struct thread *thread)
{
	struct run_queue *queue = &kernel_of(cpu)->cpu[thread->core]->shared.ready;
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

void schedule(struct cpu *cpu)
{
	struct thread *thread = current(cpu);
	struct run_queue *ready = &cpu->shared.ready;
	bool runs = thread->state == THREAD_READY && !thread->queued && thread != &cpu->shared.idle;
	int highest = run_queue_highest(ready);

	if (runs && thread->core == thread->next_core) {
		if (highest < (int)thread->priority)
			goto out; /* most entries end here */
		uint64_t now = arch_time(), end = cpu->own.slice_end;
		bool over = now >= end && end;
		if (highest == (int)thread->priority && !over)
			goto out;
		thread->slice_left = end && !over ? end - now : 0; /* else it would starve its equals */
		requeue_current(cpu, !over);
	} else if (runs) {
		requeue_current(cpu, false);
	}
	highest = run_queue_highest(ready);
	if (highest < 0) {
		switch_to(cpu, &cpu->shared.idle);
	} else {
		object_lock(&ready->lock);
		struct thread *next = run_queue_take(ready, highest);
		next->queued = 0;
		object_unlock(&ready->lock);
		switch_to(cpu, next);
		cpu->own.slice_end = 0;
	}
	highest = run_queue_highest(ready);
out:
	/* A slice runs only while somebody waits for its end. */
	if (highest >= 0 && highest == running_priority(cpu)) {
		if (!cpu->own.slice_end) {
			thread = current(cpu);
			cpu->own.slice_end = arch_time() + (thread->slice_left ? thread->slice_left : kernel_of(cpu)->slice);
			thread->slice_left = 0;
		}
	} else {
		cpu->own.slice_end = 0;
	}
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
	if (run_queue_highest(&cpu->shared.ready) == (int)current(cpu)->priority)
		cpu->own.slice_end = 1; /* long over */
}

void timer_add(struct cpu *cpu, struct thread *thread, uint64_t deadline)
{
	struct thread **link = &cpu->shared.timers;
	thread->deadline = deadline;
	while (*link && (*link)->deadline <= deadline)
		link = &(*link)->timer_next;
	thread->timer_next = *link;
	*link = thread;
	thread->in_timers = 1;
}

void timer_cancel(struct cpu *cpu, struct thread *thread)
{
	if (!thread->in_timers)
		return;
	struct thread **link = &kernel_of(cpu)->cpu[thread->core]->shared.timers;
	while (*link != thread)
		link = &(*link)->timer_next;
	*link = thread->timer_next;
	thread->in_timers = 0;
}

void timer_expire(struct cpu *cpu)
{
	while (cpu->shared.timers && cpu->shared.timers->deadline <= arch_time()) {
		struct thread *thread = cpu->shared.timers;
		timer_cancel(cpu, thread);
		notification_cancel(thread);
		thread_result(thread, SKERRY_TIMED_OUT);
		schedule_wake(cpu, thread);
	}
}

static uint64_t sooner(uint64_t a, uint64_t b) { return !a || (b && b < a) ? b : a; }

uint64_t timer_next(struct cpu *cpu)
{
	uint64_t deadline = cpu->shared.timers ? cpu->shared.timers->deadline : 0;
	return sooner(sooner(cpu->own.slice_end, deadline), cpu->own.bury_at);
}
