/* SPDX-License-Identifier: BSD-2-Clause */
#include "notification.h"
#include "arch.h"
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "schedule.h"
#include "timer.h"
#include "visit.h"
#include "work.h"
#include LOCKING_HEADER

static void signals_take(struct notification *notification, struct thread *thread,
                         uint64_t info) NEEDS(notification->lock);
static void signals_take(struct notification *notification, struct thread *thread, uint64_t info)
{
	assert_held(&notification->lock);
	context_set_badge(&thread->context, notification->word);
	context_set_info(&thread->context, info);
	thread_result(thread, SKERRY_OK);
	notification->word = 0;
}

void notification_take(struct notification *notification, struct thread *thread)
{
	kernel_assert(notification->bound == thread && notification->word);
	signals_take(notification, thread, message_info(RECV_NOTIFICATION, 0, 0));
}

void notification_signal(struct cpu *cpu, struct notification *notification, uint64_t badge)
{
	assert_entered();
	if (!object_here(cpu, &notification->lock)) {
		signal_defer(cpu, &notification->lock);
		return;
	}
	object_lock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
	struct thread *bound = notification->bound;
	struct thread *waiter = notification->waiters.head;
	uint64_t before = notification->word;
	kernel_assert(!bound || bound->bound == notification);
	kernel_assert(!waiter || (thread_is(waiter, THREAD_WAITING) && thread_notification(waiter) == notification));
	kernel_assert(!waiter || !notification->word);
	notification->word |= badge ? badge : 1;
	if ((!bound || !endpoint_interrupt(cpu, bound)) && waiter) {
		timer_cancel(cpu, waiter);
		notification_cancel(waiter);
		signals_take(notification, waiter, 0);
		schedule_wake(cpu, waiter);
	}
	if (objects_have_homes() && cpu->own.signal_deferred)
		notification->word = before;
	object_unlock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
}

uint64_t notification_wait(struct cpu *cpu, struct thread *thread, struct notification *notification, uint64_t deadline)
{
	assert_entered();
	kernel_assert(thread_calls(thread) && !thread->in_timers);
	uint64_t result = SKERRY_OK;
	if (!object_here(cpu, &notification->lock) || (deadline && !kernel_exclusive(cpu) && visits(cpu, thread)))
		return deadline ? KERNEL_EXCLUSIVE : defer_to_owner(cpu, &notification->lock);
	object_lock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
	if (notification->word) {
		signals_take(notification, thread, 0);
	} else if (deadline && deadline <= arch_time()) {
		result = SKERRY_TIMED_OUT;
	} else {
		kernel_assert(!notification->word);
		thread_waits_for(thread, notification);
		thread_queue_append(&notification->waiters, thread);
		if (deadline)
			timer_add(cpu, thread, deadline);
		result = KERNEL_WAITS;
	}
	object_unlock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
	return result;
}

uint64_t notification_poll(struct cpu *cpu, struct thread *thread, struct notification *notification)
{
	if (!object_here(cpu, &notification->lock))
		return defer_to_owner(cpu, &notification->lock);
	object_lock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
	signals_take(notification, thread, 0);
	object_unlock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
	return SKERRY_OK;
}

bool notification_time_out(struct cpu *cpu, struct notification *notification, struct thread *thread)
{
	assert_entered();
	object_lock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
	/* a signal may have ended this wait already, and the thread may wait again elsewhere */
	bool waits = thread_state(thread) == THREAD_WAITING && thread_notification(thread) == notification &&
	             thread->core == cpu->own.index && thread->in_timers && thread->deadline <= arch_time();
	if (waits) {
		timer_cancel(cpu, thread);
		notification_cancel(thread);
		thread_result(thread, SKERRY_TIMED_OUT);
		schedule_wake(cpu, thread);
	}
	object_unlock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
	return waits;
}

void notification_cancel(struct thread *thread)
{
	kernel_assert(thread_is(thread, THREAD_WAITING));
	assert_held(&thread_notification(thread)->lock);
	thread_queue_remove(&thread_notification(thread)->waiters, thread);
	atomic_store_explicit(&thread->notification, 0, memory_order_relaxed);
}

void notification_signal_cap(struct cpu *cpu, const struct cap *cap)
{
	kernel_assert(cap->type == CAP_NULL || cap->type == OBJECT_NOTIFICATION);
	if (cap->type != OBJECT_NOTIFICATION)
		return;
	notification_signal(cpu, (struct notification *)cap->object, cap->badge);
	if (take_signal_deferred(cpu))
		cpu->own.writer_wanted = true;
}

bool notification_destroy(struct cpu *cpu, struct notification *notification)
{
	assert_exclusive();
	kernel_assert(!notification->bound || notification->bound->bound == notification);
	while (notification->waiters.head) {
		struct thread *thread = notification->waiters.head;
		kernel_assert(thread_is(thread, THREAD_WAITING) && thread_notification(thread) == notification);
		if (work_over(cpu))
			return false;
		work_done(cpu, thread->in_timers ? WORK_WAKE_TIMED : WORK_WAKE);
		timer_cancel(cpu, thread);
		notification_cancel(thread);
		thread_result(thread, SKERRY_DELETED);
		schedule_wake(cpu, thread);
	}
	if (notification->bound)
		notification->bound->bound = 0;
	notification->bound = 0;
	return true;
}
