/* SPDX-License-Identifier: BSD-2-Clause */
#include "visit.h"
#include "kernel.h"
#include "message.h"
#include "schedule.h"
#include "syscall.h"
#include "work.h"
#include LOCKING_HEADER

void visit_begin(struct cpu *cpu, struct thread *thread)
{
	unsigned home = cpu->own.home;
	assert_entered();
	kernel_assert(!kernel_exclusive(cpu) && thread == current(cpu) && !thread->faulting);
	kernel_assert(home < kernel_of(cpu)->cpu_count && home != cpu->own.index);
	thread->away_at = (uint8_t)home;
	thread_become(thread, THREAD_AWAY);
	if (thread_stack_push(&kernel_of(cpu)->cpu[home]->shared.visitors, thread))
		cpu_interrupt(cpu, home);
}

/*
 * Makes the thread restart its call on its own core: exclusively, unless a part of the call has been made, or the kernel
 * is coarse now, so that no object is away.
 */
static void send_back(struct cpu *cpu, struct thread *thread, uint64_t number)
{
	thread->stays = !kernel_exclusive(cpu) && context_syscall(&thread->context) == number;
	context_restart(&thread->context);
}

static void serve_visitor(struct cpu *cpu, struct thread *thread)
{
	kernel_assert(thread_is(thread, THREAD_AWAY) && thread->away_at == cpu->own.index && thread != current(cpu));
	uint64_t number = context_syscall(&thread->context);
	/* coarse: the thread's core may touch the object now */
	uint64_t result = kernel_exclusive(cpu) ? KERNEL_AWAY : syscall_make(cpu, thread);
	if (result == KERNEL_WAITS)
		return; /* the thread waits, and another core may wake it: it must not be touched here */
	kernel_assert(result < KERNEL_AWAY || result == KERNEL_AWAY || result == KERNEL_EXCLUSIVE);
	if (result < KERNEL_AWAY)
		thread_result(thread, result);
	else
		send_back(cpu, thread, number);
	schedule_wake(cpu, thread);
}

/*
 * Serves visitors in order of arrival; those that an earlier entry has left come first. Hazard: lost wake-up. The
 * interrupt for new visitors may merge with the one that this core sent itself for the rest. So each call serves both
 * lists, or interrupts the core again.
 */
void visits_serve(struct cpu *cpu)
{
	struct thread_stack *visited = &cpu->shared.visited;
	struct thread *thread = atomic_load_explicit(&visited->top, memory_order_relaxed);
	assert_entered();
	work_begin(cpu);
	while ((thread || (thread = thread_stack_take(&cpu->shared.visitors))) && !work_over(cpu)) {
		struct thread *next = thread->next;
		serve_visitor(cpu, thread);
		work_done(cpu, WORK_VISIT);
		thread = next;
	}
	atomic_store_explicit(&visited->top, thread, memory_order_relaxed);
	if (thread)
		cpu_interrupt(cpu, cpu->own.index);
}

void visit_cancel(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	kernel_assert(thread_is(thread, THREAD_AWAY) && thread->away_at < kernel_of(cpu)->cpu_count);
	struct cpu_public *home = &kernel_of(cpu)->cpu[thread->away_at]->shared;
	thread_stack_remove(thread_stack_contains(&home->visited, thread) ? &home->visited : &home->visitors, thread);
}
