/* SPDX-License-Identifier: BSD-2-Clause */
/* Invocations of TCBs. */
#include "arch.h"
#include "cnode.h"
#include "frame.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "preempt.h"
#include "schedule.h"
#include "thread.h"
#include "timer.h"
#include "work.h"
#include "zombie.h"

static uint64_t tcb_configure(struct cpu *cpu, struct thread *thread, uint64_t info)
{
	struct slot *cspace = message_cap_of(cpu, info, 0, OBJECT_CNODE);
	struct slot *vspace = message_cap_of(cpu, info, 1, OBJECT_VSPACE);
	struct slot *buffer = message_caps(info) > 2 ? message_cap(cpu, info, 2) : 0;
	if (message_words(info) < 2)
		return SKERRY_TRUNCATED;
	uint64_t address = message_word(current(cpu), 0), fault = message_word(current(cpu), 1);
	if (!cspace || !vspace)
		return SKERRY_BAD_CAP;
	if (address & (sizeof(struct ipc_buffer) - 1))
		return SKERRY_ALIGNMENT;
	if (address) {
		if (!buffer || buffer->cap.type < OBJECT_FRAME_4K || buffer->cap.type > OBJECT_FRAME_1G)
			return SKERRY_BAD_CAP;
		if ((buffer->cap.rights & (RIGHT_READ | RIGHT_WRITE)) != (RIGHT_READ | RIGHT_WRITE))
			return SKERRY_NO_RIGHTS;
		if (buffer->cap.flags & CAP_DEVICE)
			return SKERRY_BAD_ARGUMENT;
	}
	if (thread->state != THREAD_INACTIVE)
		return SKERRY_BUSY;
	/*
	 * Deletes the old capabilities first. Hazard: use after free. That may delete the new capabilities, the
	 * caller's, and this thread, so everything is looked up again afterwards.
	 */
	if (thread_has_slots(thread)) {
		thread_clear_slots(cpu, thread);
		return KERNEL_AGAIN;
	}
	if (kernel_of(cpu)->reap_list) {
		zombies_reap(cpu);
		return KERNEL_AGAIN;
	}

	if (address) {
		uint64_t offset = address & ((1ull << frame_bits(buffer->cap.type)) - 1);
		thread->ipc_buffer_address = direct(buffer->cap.object + offset);
	}
	kernel_assert(!thread_has_slots(thread) && thread_is(thread, THREAD_INACTIVE));
	kernel_assert(!kernel_of(cpu)->reap_list);
	thread->fault_cptr = fault;
	thread_set_slot(thread, THREAD_CSPACE, cspace);
	thread_set_slot(thread, THREAD_VSPACE, vspace);
	if (address)
		thread_set_slot(thread, THREAD_IPC_BUFFER, buffer);
	return SKERRY_OK;
}

/* Returns the TCB by whose authority the call is made, its first capability, or null. */
static const struct thread *find_authority(struct cpu *cpu, uint64_t info)
{
	const struct slot *slot = message_cap_of(cpu, info, 0, OBJECT_TCB);
	return slot ? (const struct thread *)slot->cap.object : 0;
}

/* Checks that the authority may give this priority. */
static uint64_t check_priority(const struct thread *authority, uint64_t priority)
{
	if (!authority)
		return SKERRY_BAD_CAP;
	return priority <= authority->mcp ? SKERRY_OK : SKERRY_NO_RIGHTS;
}

static uint64_t tcb_set_mcp(struct cpu *cpu, struct thread *thread, uint64_t info)
{
	if (message_words(info) < 1)
		return SKERRY_TRUNCATED;
	uint64_t priority = message_word(current(cpu), 0);
	if (priority >= PRIORITIES)
		return SKERRY_BAD_ARGUMENT;
	uint64_t error = check_priority(find_authority(cpu, info), priority);
	if (error)
		return error;
	thread->mcp = priority;
	return SKERRY_OK;
}

/* Reads the message's words as a set. Returns false if it has a core for which no kernel has room. */
static bool read_cores(struct cpu *cpu, uint64_t info, struct core_set *set)
{
	*set = (struct core_set){ 0 };
	for (unsigned i = 0; i < message_words(info) && i < MESSAGE_WORDS_MAX; i++)
		if (!core_set_put64(set, i, message_word(current(cpu), i)))
			return false;
	return true;
}

static uint64_t tcb_set_cores(struct cpu *cpu, struct thread *thread, uint64_t info)
{
	struct core_set set;
	if (message_words(info) < 1)
		return SKERRY_TRUNCATED;
	const struct thread *authority = find_authority(cpu, info);
	if (!authority)
		return SKERRY_BAD_CAP;
	if (!read_cores(cpu, info, &set) || !core_set_within(&set, &authority->cores))
		return SKERRY_NO_RIGHTS;
	thread->cores = set;
	return SKERRY_OK;
}

/* Makes the thread run on `core` from its next switch or wait on; at once if its present core holds no state of it. */
static void place_thread(struct cpu *cpu, struct thread *thread, uint32_t core)
{
	struct kernel *kernel = kernel_of(cpu);
	kernel_assert(!thread->next_core || kernel->placed[thread->next_core]);
	thread_unplace(kernel, thread);
	kernel->placed[core] += core != 0;
	thread_set_next_core(thread, core);
	if (thread->state == THREAD_INACTIVE)
		thread_move(thread);
	else if (thread_waits(thread) && !thread->in_timers)
		thread_move_waiting(cpu, thread);
}

static uint64_t tcb_schedule(struct cpu *cpu, struct thread *thread, uint64_t info)
{
	if (message_words(info) < 2)
		return SKERRY_TRUNCATED;
	uint64_t priority = message_word(current(cpu), 0), core = message_word(current(cpu), 1);
	if (priority >= PRIORITIES || !kernel_has_core(kernel_of(cpu), core))
		return SKERRY_BAD_ARGUMENT;
	const struct thread *authority = find_authority(cpu, info);
	uint64_t error = check_priority(authority, priority);
	if (error)
		return error;
	if (!core_set_has(&authority->cores, core))
		return SKERRY_NO_RIGHTS;

	bool queued = thread->queued;
	timer_forget(cpu, thread);
	schedule_unready(cpu, thread);
	kernel_assert(!thread->queued && thread != cpu->own.handoff);
	thread->priority = priority;
	thread->scheduled = 1;
	place_thread(cpu, thread, core);
	if (thread->in_timers)
		timer_requeue(cpu, thread);
	if (queued)
		schedule_wake(cpu, thread);
	else
		preempt_changed(cpu, thread);
	return SKERRY_OK;
}

/* It is configured, and somebody who may has given it a core: nobody's threads run on a core that was not given to
 * them. */
static bool may_run(const struct thread *thread)
{
	kernel_assert(thread->scheduled || (!thread->core && !thread->next_core));
	return thread->scheduled && !slot_empty(&thread->slot[THREAD_VSPACE]);
}

static uint64_t tcb_write_registers(struct cpu *cpu, struct thread *thread, uint64_t info)
{
	uint64_t registers[sizeof(struct thread_registers) / 8];
	enum { COUNT = sizeof(registers) / 8 };
	if (message_words(info) < 1 + COUNT)
		return SKERRY_TRUNCATED;
	for (unsigned i = 0; i < COUNT; i++)
		registers[i] = message_word(current(cpu), 1 + i);
	if (thread->state != THREAD_INACTIVE && !thread->faulting)
		return SKERRY_BUSY;
	bool resume = message_word(current(cpu), 0) & 1;
	kernel_assert(!thread->queued && thread != current(cpu));
	if (!context_acceptable((struct thread_registers *)registers))
		return SKERRY_BAD_ARGUMENT;
	if (resume && !may_run(thread))
		return SKERRY_BAD_ARGUMENT;

	context_write(&thread->context, (struct thread_registers *)registers);
	thread->retype_left = 0; /* what it does next is another call */
	if (resume)
		thread_resume(cpu, thread);
	return SKERRY_OK;
}

static uint64_t tcb_read_registers(struct cpu *cpu, struct thread *thread)
{
	uint64_t registers[sizeof(struct thread_registers) / 8];
	if (thread->state == THREAD_READY || (objects_have_homes() && thread->state == THREAD_AWAY))
		return SKERRY_BUSY;
	kernel_assert(thread != current(cpu));
	context_read(&thread->context, (struct thread_registers *)registers);
	for (unsigned i = 0; i < sizeof(registers) / 8; i++)
		message_set_word(current(cpu), i, registers[i]);
	return SKERRY_OK;
}

static uint64_t tcb_set_tls(struct cpu *cpu, struct thread *thread, uint64_t info)
{
	if (message_words(info) < 1)
		return SKERRY_TRUNCATED;
	uint64_t base = message_word(current(cpu), 0);
	if (!context_canonical(base))
		return SKERRY_BAD_ARGUMENT;
	if (thread != current(cpu) && kernel_of(cpu)->cpu[thread->core]->shared.current == thread)
		return SKERRY_BUSY; /* another core holds it in a register */
	context_set_tls(&thread->context, base);
	if (thread == current(cpu)) {
		cpu->own.vspace_wanted = thread_vspace(thread);
		cpu->own.pending |= PENDING_SWITCH;
	}
	return SKERRY_OK;
}

static uint64_t tcb_bind(struct cpu *cpu, struct thread *thread, uint64_t info)
{
	struct slot *slot = message_cap_of(cpu, info, 0, OBJECT_NOTIFICATION);
	if (!slot)
		return SKERRY_BAD_CAP;
	if (!(slot->cap.rights & RIGHT_READ))
		return SKERRY_NO_RIGHTS; /* the thread's receives will take its word */
	struct notification *notification = (struct notification *)slot->cap.object;
	if (thread->bound || notification->bound)
		return SKERRY_BUSY;
	kernel_assert(notification->references > 0);
	thread->bound = notification;
	notification->bound = thread;
	return SKERRY_OK;
}

static uint64_t tcb_unbind(struct thread *thread)
{
	if (!thread->bound)
		return SKERRY_EMPTY_SLOT;
	kernel_assert(thread->bound->bound == thread);
	thread->bound->bound = 0;
	thread->bound = 0;
	return SKERRY_OK;
}

/* Run time, the present turn included. */
static uint64_t tcb_time(struct cpu *cpu, const struct thread *thread)
{
	const struct cpu *home = kernel_of(cpu)->cpu[thread->core];
	return thread->time + (home->shared.current == thread ? arch_time() : 0);
}

uint64_t invoke_tcb(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	assert_exclusive();
	kernel_assert(slot->cap.type == OBJECT_TCB);
	struct thread *thread = (struct thread *)slot->cap.object;
	kernel_assert(thread->references > 0 && thread->core < kernel_of(cpu)->cpu_count);
	uint64_t label = message_label(info);
	bool looks = label == TCB_READ_REGISTERS || label == TCB_TIME;
	if (!(slot->cap.rights & (looks ? RIGHT_READ : RIGHT_WRITE)))
		return label >= TCB_CONFIGURE && label <= TCB_SET_CORES ? SKERRY_NO_RIGHTS : SKERRY_BAD_LABEL;
	switch (label) {
	case TCB_CONFIGURE: return tcb_configure(cpu, thread, info);
	case TCB_SET_MCP: return tcb_set_mcp(cpu, thread, info);
	case TCB_SET_CORES: return tcb_set_cores(cpu, thread, info);
	case TCB_SCHEDULE: return tcb_schedule(cpu, thread, info);
	case TCB_WRITE_REGISTERS: return tcb_write_registers(cpu, thread, info);
	case TCB_READ_REGISTERS: return tcb_read_registers(cpu, thread);
	case TCB_RESUME:
		if (!may_run(thread))
			return SKERRY_BAD_ARGUMENT;
		thread_resume(cpu, thread);
		return SKERRY_OK;
	case TCB_SUSPEND: thread_suspend(cpu, thread); return SKERRY_OK;
	case TCB_SET_TLS: return tcb_set_tls(cpu, thread, info);
	case TCB_BIND: return tcb_bind(cpu, thread, info);
	case TCB_TIME: message_set_word(current(cpu), 0, tcb_time(cpu, thread)); return SKERRY_OK;
	case TCB_UNBIND: return tcb_unbind(thread);
	default: return SKERRY_BAD_LABEL;
	}
}
