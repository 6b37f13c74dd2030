/* SPDX-License-Identifier: BSD-2-Clause */
#include "preempt.h"
#include "kernel.h"
#include "schedule.h"
#include "timer.h"

void preempt(struct cpu *cpu, struct cpu *home, int priority)
{
	int running = atomic_load_explicit(&home->shared.running, memory_order_relaxed);
	assert_held(&home->shared.ready.lock);
	kernel_assert(home != cpu);
	if (priority < running || (priority == running && (home->own.slice_end || home->shared.slice_asked)))
		return;
	home->shared.slice_asked |= priority == running;
	if (core_set_has(&cpu->own.interrupt_cores, home->own.index))
		return;
	cpu_interrupt(cpu, home->own.index);
	core_set_add(&cpu->own.preempt_cores, home->own.index);
}

void preempt_withdraw(struct cpu *cpu, struct cpu *home)
{
	assert_exclusive();
	assert_held(&home->shared.ready.lock);
	const int highest = home->shared.ready.highest;
	if (!core_set_has(&cpu->own.preempt_cores, home->own.index) ||
	    !core_set_has(&cpu->own.interrupt_cores, home->own.index) || home->shared.slice_asked)
		return;
	if (highest < 0 || highest < atomic_load_explicit(&home->shared.running, memory_order_relaxed))
		core_set_remove(&cpu->own.interrupt_cores, home->own.index);
}

void preempt_changed(struct cpu *cpu, const struct thread *thread)
{
	struct cpu *home = kernel_of(cpu)->cpu[thread->core];
	assert_exclusive();
	if (home == cpu || home->shared.current != thread)
		return;
	object_lock(cpu, &home->shared.ready.lock, LOCK_CLASS_RUN_QUEUE);
	atomic_store_explicit(&home->shared.running, thread->priority, memory_order_relaxed);
	if (thread_moves(thread))
		cpu_interrupt(cpu, thread->core);
	else if (home->shared.ready.highest >= 0)
		preempt(cpu, home, home->shared.ready.highest);
	timer_ask(cpu, home, timer_first(home));
	if (cores_own_queues() && thread_stack_lower(&home->shared.requeue, &home->own.requeue_level,
	                                             schedule_core_level(home)))
		cpu_interrupt(cpu, home->own.index);
	object_unlock(cpu, &home->shared.ready.lock, LOCK_CLASS_RUN_QUEUE);
}
