/* SPDX-License-Identifier: BSD-2-Clause */
#include "syscall.h"
#include "arch.h"
#include "beat.h"
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
#include "visit.h"
#include "work.h"
#include "zombie.h"
#include LOCKING_HEADER

/* Names in the trace for interrupts that come from no device. */
enum { INTERRUPT_TIMER = 1000, INTERRUPT_DOORBELL, INTERRUPT_RESCHEDULE };

static bool slot_is(const struct slot *slot, unsigned type, unsigned rights)
{
	kernel_assert(type != CAP_NULL && type != CAP_ZOMBIE);
	return slot && slot->cap.type == type && (slot->cap.rights & rights) == rights;
}

static uint64_t do_call(struct cpu *cpu, struct thread *thread, const struct slot *slot, uint64_t info)
{
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	return endpoint_send(cpu, thread, &slot->cap, info, SEND_CALL);
}

static uint64_t do_send(struct cpu *cpu, struct thread *thread, const struct slot *slot, uint64_t info,
                        enum send_kind kind)
{
	if (!slot_is(slot, OBJECT_ENDPOINT, 0))
		return SKERRY_BAD_CAP;
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	return endpoint_send(cpu, thread, &slot->cap, info, kind);
}

/* Finds the reply object of a receive; it is null for capability pointer 0. */
static inline uint64_t find_reply(const struct thread *thread, struct reply **reply)
{
	uint64_t cptr = context_reply_cptr(&thread->context);
	*reply = 0;
	if (!cptr)
		return SKERRY_OK;
	struct slot *slot = cspace_lookup(thread, cptr);
	if (!slot_is(slot, OBJECT_REPLY, 0))
		return SKERRY_BAD_CAP;
	*reply = (struct reply *)slot->cap.object;
	return SKERRY_OK;
}

static uint64_t check_receive(const struct slot *slot)
{
	if (!slot_is(slot, OBJECT_ENDPOINT, 0))
		return SKERRY_BAD_CAP;
	return slot->cap.rights & RIGHT_READ ? SKERRY_OK : SKERRY_NO_RIGHTS;
}

static uint64_t do_receive(struct cpu *cpu, struct thread *thread, const struct slot *slot, bool block)
{
	struct reply *reply;
	uint64_t error = find_reply(thread, &reply);
	if (!error)
		error = check_receive(slot);
	return error ? error : endpoint_receive(cpu, thread, &slot->cap, reply, block);
}

/* Finds the reply object through which a caller is answered. */
static inline uint64_t find_caller_reply(const struct thread *thread, struct reply **reply)
{
	uint64_t error = find_reply(thread, reply);
	return error || *reply ? error : SKERRY_BAD_CAP;
}

static uint64_t do_reply(struct cpu *cpu, struct thread *thread, uint64_t info)
{
	struct reply *reply;
	uint64_t error = find_caller_reply(thread, &reply);
	return error ? error : reply_send(cpu, thread, reply, info);
}

static uint64_t do_reply_receive(struct cpu *cpu, struct thread *thread, const struct slot *slot, uint64_t info)
{
	struct reply *reply;
	uint64_t error = check_receive(slot);
	if (!error)
		error = find_caller_reply(thread, &reply);
	if (!error)
		error = reply_send(cpu, thread, reply, info);
	if (error)
		return error;
	context_set_syscall(&thread->context, SYS_RECV); /* if it is made again, then without the reply */
	return endpoint_receive(cpu, thread, &slot->cap, reply, true);
}

static inline __attribute__((always_inline)) uint64_t do_signal(struct cpu *cpu, const struct thread *thread,
                                                                      const struct slot *slot)
{
	if (slot_is(slot, OBJECT_NOTIFICATION, RIGHT_WRITE)) {
		notification_signal(cpu, (struct notification *)slot->cap.object, slot->cap.badge);
		return take_signal_deferred(cpu) ? KERNEL_AWAY : SKERRY_OK;
	}
	if (!slot_is(slot, OBJECT_DOORBELL, RIGHT_WRITE))
		return slot && (slot->cap.type == OBJECT_NOTIFICATION || slot->cap.type == OBJECT_DOORBELL)
		               ? SKERRY_NO_RIGHTS : SKERRY_BAD_CAP;
	if (visits(cpu, thread)) /* an entry can ring one doorbell only, and may make the calls of many visitors */
		return KERNEL_EXCLUSIVE;
	doorbell_ring(cpu, &slot->cap);
	return SKERRY_OK;
}

static uint64_t check_wait(const struct slot *slot)
{
	if (!slot_is(slot, OBJECT_NOTIFICATION, 0))
		return SKERRY_BAD_CAP;
	if (!(slot->cap.rights & RIGHT_READ))
		return SKERRY_NO_RIGHTS;
	return SKERRY_OK;
}

static uint64_t do_wait(struct cpu *cpu, struct thread *thread, const struct slot *slot, bool block)
{
	uint64_t error = check_wait(slot);
	if (error)
		return error;
	struct notification *notification = (struct notification *)slot->cap.object;
	if (block)
		return notification_wait(cpu, thread, notification, context_word(&thread->context, 0));
	return notification_poll(cpu, thread, notification);
}

static uint64_t do_signal_wait(struct cpu *cpu, struct thread *thread, const struct slot *slot)
{
	struct context *context = &thread->context;
	uint64_t error = check_wait(slot);
	if (!error)
		error = do_signal(cpu, thread, cspace_lookup(thread, context_reply_cptr(context)));
	if (error)
		return error;
	context_set_syscall(context, SYS_WAIT); /* if it is made again, then without the signal */
	return do_wait(cpu, thread, slot, true);
}

/*
 * Signals each notification of a set. What is signalled leaves the set in the thread's register, so a call that is made
 * again, after a preemption point or as the writer, goes on where it was. Never visits another core: an object that is
 * away makes the entry exclusive.
 */
static __attribute__((noinline)) uint64_t do_signal_set(struct cpu *cpu, struct thread *thread, uint64_t first)
{
	struct context *context = &thread->context;
	uint64_t left = context_word(context, 0);
	kernel_assert(!visits(cpu, thread));
	while (left) {
		const struct slot *slot = cspace_lookup(thread, first + (uint64_t)__builtin_ctzll(left));
		if (!slot_is(slot, OBJECT_NOTIFICATION, RIGHT_WRITE))
			return slot_is(slot, OBJECT_NOTIFICATION, 0) ? SKERRY_NO_RIGHTS : SKERRY_BAD_CAP;
		notification_signal(cpu, (struct notification *)slot->cap.object, slot->cap.badge);
		if (take_signal_deferred(cpu))
			return KERNEL_EXCLUSIVE;
		left &= left - 1;
		context_set_word(context, 0, left);
		work_done(cpu, WORK_WAKE_TIMED);
		if (left && work_over(cpu))
			return KERNEL_AGAIN;
	}
	return SKERRY_OK;
}

/* The kernel never waits for the console with the lock held: the thread makes the call again until there is room. */
static uint64_t do_debug_put(struct cpu *cpu, const struct thread *thread, const struct slot *slot)
{
	if (!slot_is(slot, OBJECT_CONTROL, 0))
		return SKERRY_BAD_CAP;
	kernel_irrevocable(cpu);
	if (!arch_console_ready())
		return KERNEL_AGAIN;
	arch_console_put((char)context_word(&thread->context, 0));
	return SKERRY_OK;
}

/* Returns whether the call needs the writer: it passes capabilities, or writes to the console, where lines would
 * mix. */
static bool must_write(uint64_t number, uint64_t info)
{
	switch (number) {
	case SYS_CALL:
	case SYS_SEND:
	case SYS_NB_SEND:
	case SYS_REPLY:
	case SYS_REPLY_RECV: return message_caps(info) != 0;
	default: return number == SYS_DEBUG_PUT;
	}
}

/* An invocation: a reader may map, unmap and protect frames. */
static inline uint64_t call_as_reader(struct cpu *cpu, struct thread *thread, struct slot *slot, uint64_t info)
{
	bool is_frame = slot && slot->cap.type >= OBJECT_FRAME_4K && slot->cap.type <= OBJECT_FRAME_1G;
	return is_frame && !visits(cpu, thread) ? invoke_as_reader(cpu, slot, info) : KERNEL_EXCLUSIVE;
}

/* Makes a system call of `thread`. Returns its result, or one of outcome.h. Inline in both its callers. */
static inline __attribute__((always_inline)) uint64_t dispatch_call(struct cpu *cpu, struct thread *thread,
                                                                    uint64_t number, uint64_t cptr, uint64_t info)
{
	assert_entered();
	kernel_assert(thread_is(thread, visits(cpu, thread) ? THREAD_AWAY : THREAD_READY) &&
	              thread != &cpu->shared.idle);
	struct slot *slot = cspace_lookup(thread, cptr);
	if (!kernel_exclusive(cpu) && must_write(number, info))
		return number == SYS_CALL ? call_as_reader(cpu, thread, slot, info) : KERNEL_EXCLUSIVE;
	switch (number) {
	case SYS_CALL:
		if (!slot)
			return SKERRY_BAD_CAP;
		if (slot->cap.type == OBJECT_ENDPOINT)
			return do_call(cpu, thread, slot, info);
		return kernel_exclusive(cpu) ? invoke_as_writer(cpu, slot, info)
		       : call_as_reader(cpu, thread, slot, info);
	case SYS_SEND: return do_send(cpu, thread, slot, info, SEND_WAIT);
	case SYS_NB_SEND: return do_send(cpu, thread, slot, info, SEND_POLL);
	case SYS_RECV: return do_receive(cpu, thread, slot, true);
	case SYS_NB_RECV: return do_receive(cpu, thread, slot, false);
	case SYS_REPLY: return do_reply(cpu, thread, info);
	case SYS_REPLY_RECV: return do_reply_receive(cpu, thread, slot, info);
	case SYS_SIGNAL: return do_signal(cpu, thread, slot);
	case SYS_WAIT: return do_wait(cpu, thread, slot, true);
	case SYS_POLL: return do_wait(cpu, thread, slot, false);
	case SYS_YIELD: schedule_yield(cpu); return SKERRY_OK;
	case SYS_DEBUG_PUT: return do_debug_put(cpu, thread, slot);
	case SYS_SIGNAL_WAIT: return do_signal_wait(cpu, thread, slot);
	/* not a case: the switch of dynamic would cost Wait an instruction more */
	default: return number == SYS_SIGNAL_SET ? do_signal_set(cpu, thread, cptr) : SKERRY_BAD_SYSCALL;
	}
}

uint64_t syscall_make(struct cpu *cpu, struct thread *thread)
{
	const struct context *context = &thread->context;
	if (!objects_have_homes())
		return KERNEL_EXCLUSIVE;
	return dispatch_call(cpu, thread, context_syscall(context), context_cptr(context), context_info(context));
}

/*
 * Upgrades the entry from reader to exclusive writer, dropping the reader's lock
 * first. Returns false if another core descheduled the current thread in between.
 */
static inline bool enter_alone(struct cpu *cpu)
{
	assert_entered();
	if (kernel_exclusive(cpu))
		return true;
	schedule_flush_wakeups(cpu);
	kernel_exit(cpu);
	kernel_enter_exclusive(cpu);
	assert_exclusive();
	kernel_assert(!cpu->own.handoff);
	return current(cpu) != &cpu->shared.idle;
}

/* Returns whether work that this entry has left (visit.h) must be done again; the entry is exclusive then. */
static inline bool alone_again(struct cpu *cpu)
{
	if (!take_writer_wanted(cpu))
		return false;
	enter_alone(cpu);
	return true;
}

static __attribute__((noinline)) void raise_fault(struct cpu *cpu, unsigned fault, unsigned count,
                                                  const uint64_t *words)
{
	assert_entered();
	count_fault(cpu, fault, words[0]);
	if (!fault_raise(cpu, current(cpu), fault, count, words) && enter_alone(cpu))
		fault_raise(cpu, current(cpu), fault, count, words);
}

static __attribute__((noinline)) void raise_bad_syscall(struct cpu *cpu, const struct context *context)
{
	uint64_t words[4] = { context_rip(context), context_rsp(context), context_syscall(context) };
	raise_fault(cpu, FAULT_SYSCALL, 3, words);
}

/*
 * Returns whether the thread's call may be made now. A call that has come back from another core needs an exclusive
 * entry.
 */
static inline bool may_begin(struct cpu *cpu, struct thread *thread)
{
	if (!objects_have_homes() || !thread->stays)
		return true;
	thread->stays = 0;
	return enter_alone(cpu);
}

/*
 * The thread's registers keep their values until the call ends, because it may be restarted: after a preemption point
 * (KERNEL_AGAIN), or after a suspension while it waited.
 */
static inline __attribute__((always_inline)) void serve_call(struct cpu *cpu, struct thread *thread)
{
	kernel_assert(thread == current(cpu));
	struct context *context = &thread->context;
	uint64_t result;
	count_syscall(cpu, context_syscall(context), context_cptr(context));
	work_begin(cpu);
	if (!may_begin(cpu, thread))
		return;
	do /* on retry the number may differ: a ReplyRecv whose reply was delivered restarts as Recv */
		result = dispatch_call(cpu, current(cpu), context_syscall(context), context_cptr(context),
		                       context_info(context));
	while (!kernel_exclusive(cpu) && result == KERNEL_EXCLUSIVE && enter_alone(cpu));
	if (result == KERNEL_AGAIN)
		context_restart(context);
	else if (objects_have_homes() && result == KERNEL_AWAY)
		visit_begin(cpu, thread);
	else if (result == SKERRY_BAD_SYSCALL)
		raise_bad_syscall(cpu, context);
	else if (result < KERNEL_AWAY)
		thread_result(thread, result);
	zombies_watch(cpu);
}

void kernel_syscall(struct cpu *cpu)
{
	kernel_enter(cpu);
	kernel_syscall_entered(cpu);
}

__attribute__((noinline)) void kernel_syscall_entered(struct cpu *cpu)
{
	assert_entered();
	struct thread *thread = current(cpu);
	/* else a remote call descheduled the thread while this core waited for the lock */
	if (thread != &cpu->shared.idle)
		serve_call(cpu, thread);
	schedule(cpu);
	kernel_exit(cpu);
}

void kernel_fault(struct cpu *cpu, unsigned fault, unsigned count, const uint64_t *words)
{
	kernel_enter(cpu);
	kernel_assert(!cpu->own.handoff);
	if (current(cpu) != &cpu->shared.idle)
		raise_fault(cpu, fault, count, words);
	schedule(cpu);
	kernel_exit(cpu);
}

void kernel_timer(struct cpu *cpu)
{
	beat(cpu);
	kernel_enter(cpu);
	kernel_assert(!cpu->own.handoff);
	count_interrupt(cpu, INTERRUPT_TIMER);
	cpu->own.timer_armed = cpu->own.timer_wanted = 0;
	cpu->own.pending |= PENDING_REST;
	work_begin(cpu);
	do {
		timer_expire(cpu);
	} while (alone_again(cpu));
	if (zombies_due(cpu)) {
		enter_alone(cpu);
		zombies_timer(cpu);
	}
	if (faults_due(cpu)) {
		enter_alone(cpu);
		faults_timer(cpu);
	}
	if (visits_due(cpu))
		visits_serve(cpu);
	if (doorbells_due(cpu))
		do {
			doorbells_poll(cpu);
		} while (alone_again(cpu));
	schedule(cpu);
	beat_arm(cpu);
	kernel_exit(cpu);
}

void kernel_irq(struct cpu *cpu, unsigned number)
{
	kernel_enter(cpu);
	kernel_assert(!cpu->own.handoff && number < KERNEL_IRQS);
	count_interrupt(cpu, number);
	if (irq_is_level(cpu, number)) /* the interrupt controllers are the writer's */
		enter_alone(cpu);
	do {
		irq_arrived(cpu, number);
	} while (alone_again(cpu));
	schedule(cpu);
	kernel_exit(cpu);
}

void kernel_doorbell(struct cpu *cpu)
{
	kernel_enter(cpu);
	kernel_assert(!cpu->own.handoff);
	count_interrupt(cpu, INTERRUPT_DOORBELL);
	work_begin(cpu);
	do {
		doorbell_receive(cpu);
	} while (alone_again(cpu));
	schedule(cpu);
	kernel_exit(cpu);
}

void kernel_reschedule(struct cpu *cpu)
{
	kernel_enter(cpu);
	count_interrupt(cpu, INTERRUPT_RESCHEDULE);
	doorbells_watch(cpu);
	if (objects_have_homes()) {
		work_begin(cpu);
		visits_serve(cpu);
	}
	schedule_interrupted(cpu);
	kernel_exit(cpu);
}
