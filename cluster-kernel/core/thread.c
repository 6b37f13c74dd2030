/* SPDX-License-Identifier: BSD-2-Clause */
#include "thread.h"
#include "arch.h"
#include "endpoint.h"
#include "kernel.h"
#include "memory.h"
#include "notification.h"
#include "remote.h"
#include "reply.h"
#include "schedule.h"
#include "timer.h"
#include "visit.h"
#include LOCKING_HEADER

void thread_init(struct thread *thread)
{
	kernel_assert(!((uint64_t)thread & ((1u << TCB_BITS) - 1)));
	kernel_assert(!thread_has_slots(thread) && !thread->references);
	context_init(&thread->context);
	arch_fpu_init(thread->fpu);
	thread_become(thread, THREAD_INACTIVE);
}

void thread_unplace(struct kernel *kernel, struct thread *thread)
{
	kernel->placed[thread->next_core] -= thread->next_core != 0;
	thread_set_next_core(thread, 0);
}

/* Hazard: a core that has left the thread may still be saving its FPU state. */
static void await_saved(struct cpu *cpu, const struct thread *thread)
{
	while (cpu->own.loaded_thread != thread && atomic_load_explicit(&thread->loaded, memory_order_acquire)) {
		kernel_irrevocable(cpu);
		arch_relax();
	}
}

void thread_move_waiting(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	kernel_assert(thread_waits(thread) && !thread->in_timers && !thread->queued && thread != current(cpu));
	if (!thread_moves(thread) || cpu->own.loaded_thread == thread)
		return; /* it moves when it is woken */
	await_saved(cpu, thread); /* a fast path on its new core does not */
	thread_move(thread);
}

/* Takes the thread off the core that runs it. */
static void leave_core(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	kernel_assert(thread->core < kernel_of(cpu)->cpu_count);
	struct cpu *home = kernel_of(cpu)->cpu[thread->core];
	if (home->shared.current == thread && home != cpu)
		remote_request_core(cpu, thread->core, REQUEST_DESCHEDULE, 0);
	await_saved(cpu, thread); /* the core that holds the state, which need not be the thread's next core */
}

/*
 * A fault whose message a handler has received is not raised again. A Call whose message a server has received is made
 * again.
 */
static bool fault_received(const struct thread *thread)
{
	return thread->state == THREAD_REPLY && thread->faulting;
}

void thread_suspend(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	kernel_assert(!thread_is(thread, THREAD_IDLE));
	if (thread_waits(thread) && !fault_received(thread))
		context_restart(&thread->context);
	timer_forget(cpu, thread);
	switch (thread->state) {
	case THREAD_READY:
		schedule_unready(cpu, thread);
		leave_core(cpu, thread);
		break;
	case THREAD_SENDING:
	case THREAD_RECEIVING: endpoint_cancel(cpu, thread); break;
	case THREAD_REPLY: reply_cancel(thread); break;
	case THREAD_AWAY: visit_cancel(cpu, thread); break;
	case THREAD_WAITING:
		timer_cancel(cpu, thread);
		notification_cancel(thread);
		break;
	}
	kernel_assert(!thread->queued && !thread->in_timers && !thread->timer.kept && thread != cpu->own.handoff);
	thread->faulting = 0;
	thread_become(thread, THREAD_INACTIVE);
}

void thread_resume(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	if (thread->state == THREAD_INACTIVE)
		schedule_wake(cpu, thread);
}

void thread_destroy(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	kernel_assert(thread->references == 0);
	thread_suspend(cpu, thread);
	leave_core(cpu, thread);
	if (thread == current(cpu))
		schedule_idle(cpu); /* it deleted itself */
	if (cpu->own.loaded_thread == thread) {
		kernel_irrevocable(cpu);
		arch_unload(cpu);
	}
	kernel_assert(!thread->bound || thread->bound->bound == thread);
	if (thread->bound)
		thread->bound->bound = 0;
	kernel_assert(!thread->loaded);
	thread_unplace(kernel_of(cpu), thread);
	thread_clear_slots(cpu, thread);
}

bool thread_has_slots(const struct thread *thread)
{
	return !slot_empty(&thread->slot[THREAD_CSPACE]) || !slot_empty(&thread->slot[THREAD_VSPACE]) ||
	       !slot_empty(&thread->slot[THREAD_IPC_BUFFER]);
}

void thread_clear_slots(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	for (unsigned i = 0; i < THREAD_SLOTS; i++)
		slot_delete(cpu, &thread->slot[i]); /* of these types none stops half-way */
	kernel_assert(!thread_has_slots(thread));
}

void thread_set_slot(struct thread *thread, unsigned index, struct slot *from)
{
	kernel_assert(index < THREAD_SLOTS && slot_empty(&thread->slot[index]));
	kernel_assert(!slot_empty(from) && !(from->cap.flags & CAP_THREAD));
	struct cap copy = from->cap;
	copy.flags = (copy.flags & ~(CAP_MAPPED | CAP_NOTED)) | CAP_THREAD;
	slot_insert(&thread->slot[index], &copy, from);
}

void thread_leave_vspace(struct cpu *cpu, struct slot *slot, struct vspace *vspace)
{
	assert_exclusive();
	kernel_assert(vspace && slot_empty(slot));
	struct thread *thread = (struct thread *)((uint8_t *)slot - __builtin_offsetof(struct thread,
		slot[THREAD_VSPACE]));
	if (kernel_of(cpu)->cpu[thread->core]->shared.current == thread)
		remote_request_core(cpu, thread->core, REQUEST_FLUSH_AND_UNLOAD,
		                    &(const struct tlb_spaces){ 1, { vspace } });
}
