/* SPDX-License-Identifier: BSD-2-Clause */
#include "visit.h"
#include "arch.h"
#include "kernel.h"
#include "message.h"
#include "schedule.h"
#include "syscall.h"
#include "timer.h"
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
 * Makes the thread restart its call on its own core: exclusively, unless a part of the call has been made. Hazard:
 * starvation. This entry may be exclusive because of other work, also in a kernel that is fine (kernel_timer()); a call
 * that went away again could meet such an entry each time. Where the kernel is coarse now, each entry is exclusive
 * anyway.
 */
static void send_back(struct thread *thread, uint64_t number)
{
	thread->stays = context_syscall(&thread->context) == number;
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
		send_back(thread, number);
	schedule_wake(cpu, thread);
}

/*
 * Leaves visitors until `time`. The core's own idle thread stands in the list meanwhile, so that the list is not empty
 * and those who push interrupt nobody.
 */
static void leave_until(struct cpu *cpu, uint64_t time)
{
	kernel_assert(time && current(cpu) != &cpu->shared.idle);
	if (!cpu->own.visits_at)
		thread_stack_push(&cpu->shared.visitors, &cpu->shared.idle);
	cpu->own.visits_at = time;
	timer_housekeeping(cpu);
}

/* Takes all visitors, in order of arrival; null: there are none. */
static struct thread *take_visitors(struct cpu *cpu)
{
	struct thread *first = thread_stack_take(&cpu->shared.visitors), **link = &first;
	if (!cpu->own.visits_at)
		return first;
	for (; *link != &cpu->shared.idle; link = &(*link)->next)
		kernel_assert(*link);
	*link = cpu->shared.idle.next;
	cpu->own.visits_at = 0;
	timer_housekeeping(cpu);
	return first;
}

/* Makes calls of visitors within the work budget; those that an earlier entry has left come first. Returns whether some
 * are left. */
static bool serve_visitors(struct cpu *cpu)
{
	struct thread_stack *visited = &cpu->shared.visited;
	struct thread *thread = atomic_load_explicit(&visited->top, memory_order_relaxed);
	while ((thread || (thread = take_visitors(cpu))) && !work_over(cpu)) {
		struct thread *next = thread->next;
		serve_visitor(cpu, thread);
		work_done(cpu, WORK_VISIT);
		thread = next;
	}
	atomic_store_explicit(&visited->top, thread, memory_order_relaxed);
	return thread;
}

/*
 * Hazard: lost wake-up. The interrupt for new visitors may merge with another one. So each call serves both lists, or
 * has the core come back: at once where it idles, else by its timer.
 */
void visits_serve(struct cpu *cpu)
{
	assert_entered();
	const bool idles = current(cpu) == &cpu->shared.idle;
	if (work_over(cpu) || (!atomic_load_explicit(&cpu->shared.visited.top, memory_order_relaxed) &&
	                       !atomic_load_explicit(&cpu->shared.visitors.top, memory_order_relaxed)))
		return;
	const uint64_t begin = arch_time();
	if (!idles && begin < cpu->own.visits_until) {
		leave_until(cpu, cpu->own.visits_until);
		return;
	}
	const bool left = serve_visitors(cpu);
	const uint64_t end = arch_time(), twice = 2 * (end - begin), slice = kernel_of(cpu)->slice;
	cpu->own.visits_until = end + (twice < slice ? twice : slice) + kernel_of(cpu)->visit_turn;
	if (left && idles)
		cpu_interrupt(cpu, cpu->own.index);
	else if (left)
		leave_until(cpu, cpu->own.visits_until);
}

void visit_cancel(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	kernel_assert(thread_is(thread, THREAD_AWAY) && thread->away_at < kernel_of(cpu)->cpu_count);
	struct cpu_public *home = &kernel_of(cpu)->cpu[thread->away_at]->shared;
	unsigned looked = 0;
	bool removed = thread_stack_remove(&home->visited, thread, &looked) ||
	     thread_stack_remove(&home->visitors, thread, &looked);
	kernel_assert(removed);
	(void)removed;
	work_done(cpu, (int)looked * WORK_LOOK);
}
