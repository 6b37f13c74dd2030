/* SPDX-License-Identifier: BSD-2-Clause */
#include "notification.h"
#include "arch.h"
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "schedule.h"
#include "timer.h"
#include "work.h"

static void deliver(struct notification *notification, struct thread *thread, uint64_t info)
{
	context_set_badge(&thread->context, notification->word);
	context_set_info(&thread->context, info);
	thread_result(thread, SKERRY_OK);
	notification->word = 0;
}

void notification_take(struct notification *notification, struct thread *thread)
{
	deliver(notification, thread, message_info(RECV_NOTIFICATION, 0, 0));
}

void notification_signal(struct cpu *cpu, struct notification *notification, uint64_t badge)
{
	object_lock(&notification->lock);
	struct thread *bound = notification->bound;
	struct thread *waiter = notification->waiters.head;
	notification->word |= badge ? badge : 1;
	if (bound && bound->state == THREAD_RECEIVING) {
		endpoint_cancel(bound);
		notification_take(notification, bound);
		schedule_wake(cpu, bound);
	} else if (waiter) {
		notification_cancel(waiter);
		timer_cancel(cpu, waiter);
		deliver(notification, waiter, 0);
		schedule_wake(cpu, waiter);
	}
	object_unlock(&notification->lock);
}

uint64_t notification_wait(struct cpu *cpu, struct notification *notification, uint64_t deadline)
{
	struct thread *thread = current(cpu);
	uint64_t result = SKERRY_OK;
	object_lock(&notification->lock);
	if (notification->word) {
		deliver(notification, thread, 0);
	} else if (deadline && deadline <= arch_time()) {
		result = SKERRY_TIMED_OUT;
	} else {
		thread->state = THREAD_WAITING;
		thread->notification = notification;
		thread_queue_append(&notification->waiters, thread);
		if (deadline)
			timer_add(cpu, thread, deadline);
	}
	object_unlock(&notification->lock);
	return result;
}

void notification_poll(struct cpu *cpu, struct notification *notification)
{
	object_lock(&notification->lock);
	deliver(notification, current(cpu), 0);
	object_unlock(&notification->lock);
}

void notification_cancel(struct thread *thread)
{
	thread_queue_remove(&thread->notification->waiters, thread);
	thread->notification = 0;
}

void notification_signal_cap(struct cpu *cpu, const struct cap *cap)
{
	if (cap->type == OBJECT_NOTIFICATION)
		notification_signal(cpu, (struct notification *)cap->object, cap->badge);
}

bool notification_destroy(struct cpu *cpu, struct notification *notification)
{
	while (notification->waiters.head) {
		struct thread *thread = notification->waiters.head;
		if (work_over(cpu))
			return false;
		work_done(cpu, WORK_WAKE);
		notification_cancel(thread);
		timer_cancel(cpu, thread);
		thread_result(thread, SKERRY_DELETED);
		schedule_wake(cpu, thread);
	}
	if (notification->bound)
		notification->bound->bound = 0;
	notification->bound = 0;
	return true;
}
