/* SPDX-License-Identifier: BSD-2-Clause */
#include "syscall.h"
#include "arch.h"
#include "channel.h"
#include "cnode.h"
#include "endpoint.h"
#include "fault.h"
#include "invoke.h"
#include "irq.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "reply.h"
#include "schedule.h"
#include "timer.h"
#include "work.h"
#include "zombie.h"
#include REGIME_HEADER

/* How the trace names interrupts that are not a device's. */
enum { INTERRUPT_TIMER = 1000, INTERRUPT_DOORBELL, INTERRUPT_POKE };

static bool is(const struct slot *slot, unsigned type, unsigned rights)
{
	return slot && slot->cap.type == type && (slot->cap.rights & rights) == rights;
}

static uint64_t do_call(struct cpu *cpu, const struct slot *slot, uint64_t info)
{
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	endpoint_send(cpu, current(cpu), &slot->cap, info, SEND_CALL);
	return SKERRY_OK;
}

static uint64_t do_send(struct cpu *cpu, const struct slot *slot, uint64_t info, enum send_kind kind)
{
	if (!is(slot, OBJECT_ENDPOINT, 0))
		return SKERRY_BAD_CAP;
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	endpoint_send(cpu, current(cpu), &slot->cap, info, kind);
	return SKERRY_OK;
}

/* The reply object of a receive: null for capability pointer 0. */
static inline uint64_t find_reply(struct cpu *cpu, struct reply **reply)
{
	uint64_t cptr = context_reply_cptr(&current(cpu)->context);
	*reply = 0;
	if (!cptr)
		return SKERRY_OK;
	struct slot *slot = cspace_lookup(current(cpu), cptr);
	if (!is(slot, OBJECT_REPLY, 0))
		return SKERRY_BAD_CAP;
	*reply = (struct reply *)slot->cap.object;
	return SKERRY_OK;
}

static uint64_t check_receive(const struct slot *slot)
{
	if (!is(slot, OBJECT_ENDPOINT, 0))
		return SKERRY_BAD_CAP;
	return slot->cap.rights & RIGHT_READ ? SKERRY_OK : SKERRY_NO_RIGHTS;
}

static uint64_t receive(struct cpu *cpu, const struct slot *slot, struct reply *reply, bool block)
{
	if (reply)
		reply->rights = slot->cap.rights;
	return endpoint_receive(cpu, (struct endpoint *)slot->cap.object, reply, block);
}

static uint64_t do_receive(struct cpu *cpu, const struct slot *slot, bool block)
{
	struct reply *reply;
	uint64_t error = find_reply(cpu, &reply);
	if (!error)
		error = check_receive(slot);
	if (error)
		return error;
	if (reply && reply->thread)
		return SKERRY_BUSY;
	return receive(cpu, slot, reply, block);
}

/* The reply object with which a caller is answered. */
static inline uint64_t find_caller(struct cpu *cpu, struct reply **reply)
{
	uint64_t error = find_reply(cpu, reply);
	if (error)
		return error;
	if (!*reply)
		return SKERRY_BAD_CAP;
	return reply_caller(*reply) ? SKERRY_OK : SKERRY_NO_REPLY;
}

static uint64_t do_reply(struct cpu *cpu, uint64_t info)
{
	struct reply *reply;
	uint64_t error = find_caller(cpu, &reply);
	if (!error)
		reply_send(cpu, reply, info);
	return error;
}

static uint64_t do_reply_receive(struct cpu *cpu, const struct slot *slot, uint64_t info)
{
	struct reply *reply;
	uint64_t error = check_receive(slot);
	if (!error)
		error = find_caller(cpu, &reply);
	if (error)
		return error;

	reply_send(cpu, reply, info);
	context_set_syscall(&current(cpu)->context, SYS_RECV); /* if it is made again, then without the reply */
	return receive(cpu, slot, reply, true);
}

static uint64_t do_signal(struct cpu *cpu, const struct slot *slot)
{
	if (is(slot, OBJECT_NOTIFICATION, RIGHT_WRITE))
		notification_signal(cpu, (struct notification *)slot->cap.object, slot->cap.badge);
	else if (is(slot, OBJECT_DOORBELL, RIGHT_WRITE))
		doorbell_ring(cpu, &slot->cap);
	else
		return slot && (slot->cap.type == OBJECT_NOTIFICATION || slot->cap.type == OBJECT_DOORBELL)
		               ? SKERRY_NO_RIGHTS : SKERRY_BAD_CAP;
	return SKERRY_OK;
}

static uint64_t do_wait(struct cpu *cpu, const struct slot *slot, bool block)
{
	struct thread *thread = current(cpu);
	if (!is(slot, OBJECT_NOTIFICATION, 0))
		return SKERRY_BAD_CAP;
	if (!(slot->cap.rights & RIGHT_READ))
		return SKERRY_NO_RIGHTS;
	struct notification *notification = (struct notification *)slot->cap.object;
	if (block)
		return notification_wait(cpu, notification, context_word(&thread->context, 0));
	notification_poll(cpu, notification);
	return SKERRY_OK;
}

/* Returns the thread's result, or KERNEL_AGAIN. A thread that waits then gets its result from who wakes it. */
static uint64_t dispatch(struct cpu *cpu, uint64_t number, uint64_t cptr, uint64_t info)
{
	struct thread *thread = current(cpu);
	struct slot *slot = cspace_lookup(thread, cptr);
	switch (number) {
	case SYS_CALL:
		if (!slot)
			return SKERRY_BAD_CAP;
		return slot->cap.type == OBJECT_ENDPOINT ? do_call(cpu, slot, info) : invoke(cpu, slot, info);
	case SYS_SEND: return do_send(cpu, slot, info, SEND_WAIT);
	case SYS_NB_SEND: return do_send(cpu, slot, info, SEND_POLL);
	case SYS_RECV: return do_receive(cpu, slot, true);
	case SYS_NB_RECV: return do_receive(cpu, slot, false);
	case SYS_REPLY: return do_reply(cpu, info);
	case SYS_REPLY_RECV: return do_reply_receive(cpu, slot, info);
	case SYS_SIGNAL: return do_signal(cpu, slot);
	case SYS_WAIT: return do_wait(cpu, slot, true);
	case SYS_POLL: return do_wait(cpu, slot, false);
	case SYS_YIELD: schedule_yield(cpu); return SKERRY_OK;
	case SYS_DEBUG_PUT: kernel_irrevocable(cpu); arch_console_put(cptr); return SKERRY_OK;
	default: return SKERRY_BAD_SYSCALL;
	}
}

static __attribute__((noinline)) void raise_bad_syscall(struct cpu *cpu, const struct context *context)
{
	uint64_t words[4] = { context_rip(context), context_rsp(context), context_syscall(context) };
	fault_raise(cpu, FAULT_SYSCALL, 3, words);
}

/*
 * Until a call is over, the thread's registers are those it made it with: it
 * may have to make it again, after a preemption point (KERNEL_AGAIN) or after
 * it was suspended while it waited.
 */
static void serve(struct cpu *cpu, struct thread *thread)
{
	struct context *context = &thread->context;
	uint64_t number = context_syscall(context);
	count_syscall(cpu, number, context_cptr(context));
	work_begin(cpu);
	uint64_t result = dispatch(cpu, number, context_cptr(context), context_info(context));
	if (result == KERNEL_AGAIN)
		context_restart(context);
	else if (result == SKERRY_BAD_SYSCALL)
		raise_bad_syscall(cpu, context);
	else if (!thread_waits(thread))
		thread_result(thread, result);
	zombies_watch(cpu);
}

void kernel_syscall(struct cpu *cpu)
{
	kernel_enter(cpu);
	kernel_syscall_entered(cpu);
}

void kernel_syscall_entered(struct cpu *cpu)
{
	struct thread *thread = current(cpu);
	if (thread != &cpu->shared.idle) /* else: it was stalled while it waited for the lock */
		serve(cpu, thread);
	schedule(cpu);
	kernel_exit(cpu);
}

void kernel_fault(struct cpu *cpu, unsigned fault, unsigned count, const uint64_t *words)
{
	kernel_enter(cpu);
	if (current(cpu) != &cpu->shared.idle)
		fault_raise(cpu, fault, count, words);
	schedule(cpu);
	kernel_exit(cpu);
}

void kernel_timer(struct cpu *cpu)
{
	kernel_enter(cpu);
	count_interrupt(cpu, INTERRUPT_TIMER);
	cpu->own.timer_armed = 0;
	work_begin(cpu);
	timer_expire(cpu);
	zombies_timer(cpu);
	schedule(cpu);
	kernel_exit(cpu);
}

void kernel_irq(struct cpu *cpu, unsigned number)
{
	kernel_enter(cpu);
	count_interrupt(cpu, number);
	irq_arrived(cpu, number);
	schedule(cpu);
	kernel_exit(cpu);
}

void kernel_doorbell(struct cpu *cpu)
{
	kernel_enter(cpu);
	count_interrupt(cpu, INTERRUPT_DOORBELL);
	doorbell_heard(cpu);
	schedule(cpu);
	kernel_exit(cpu);
}

void kernel_poke(struct cpu *cpu)
{
	kernel_enter(cpu);
	count_interrupt(cpu, INTERRUPT_POKE);
	schedule(cpu);
	kernel_exit(cpu);
}
