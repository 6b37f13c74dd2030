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

void visit_begin(struct cpu *cpu, struct thread *thread)
{
	unsigned home = cpu->own.home;
	assert_entered();
	kernel_assert(!kernel_exclusive(cpu) && thread == current(cpu) && !thread->faulting);
	kernel_assert(home < kernel_of(cpu)->cpu_count && home != cpu->own.index);
	struct thread_stack *visitors = &kernel_of(cpu)->cpu[home]->shared.visitors;
	if (stack_count(thread_stack_word(visitors)) >= VISITORS_MAX) {
		send_back(thread, context_syscall(&thread->context));
		return;
	}
	thread->away_at = (uint16_t)home;
	thread_become(thread, THREAD_AWAY);
	if (thread_stack_push(visitors, thread, STACK_ALWAYS))
		cpu_interrupt(cpu, home);
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

/* Leaves visitors until `time`; a push does not interrupt this core meanwhile. */
static void leave_until(struct cpu *cpu, uint64_t time)
{
	kernel_assert(time && current(cpu) != &cpu->shared.idle);
	if (!cpu->own.visits_at)
		thread_stack_quieten(&cpu->shared.visitors);
	cpu->own.visits_at = time;
	timer_housekeeping(cpu);
}

/* Takes all visitors, in order of arrival; null: there are none. */
static struct thread *take_visitors(struct cpu *cpu)
{
	if (!thread_stack_word(&cpu->shared.visitors))
		return 0;
	if (cpu->own.visits_at) {
		cpu->own.visits_at = 0;
		timer_housekeeping(cpu);
	}
	return thread_stack_take(&cpu->shared.visitors, 0);
}

/* Makes calls of visitors within the work budget; those that an earlier entry has left come first. Returns whether some
 * are left. */
static bool serve_visitors(struct cpu *cpu)
{
	struct thread *thread = cpu->shared.visited;
	while ((thread || (thread = take_visitors(cpu))) && !work_over(cpu)) {
		struct thread *next = thread->next;
		serve_visitor(cpu, thread);
		work_done(cpu, WORK_VISIT);
		thread = next;
	}
	cpu->shared.visited = thread;
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
	if (work_over(cpu) || (!cpu->shared.visited && !thread_stack_word(&cpu->shared.visitors)))
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
	bool removed = thread_list_remove(&home->visited, thread, &looked) ||
	     thread_stack_remove(&home->visitors, thread, stack_level(thread_stack_word(&home->visitors)), &looked);
	kernel_assert(removed && looked <= 2 * (VISITORS_MAX + CORES_MAX));
	(void)removed;
	work_done(cpu, (int)looked * WORK_LOOK);
}
