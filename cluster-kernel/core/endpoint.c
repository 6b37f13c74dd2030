/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "reply.h"
#include "schedule.h"

/* `sender`'s message has gone to `receiver`: who runs now, who waits for what. */
static void sent(struct thread *sender, struct thread *receiver, bool calling)
{
	struct reply *reply = receiver->reply;
	receiver->reply = 0;
	if (reply)
		reply->receiver = 0;
	if (calling && reply) {
		reply->caller = sender;
		sender->reply = reply;
		sender->state = THREAD_REPLY;
	} else if (calling) { /* nobody can ever answer */
		sender->faulting = 0;
		sender->state = THREAD_INACTIVE;
	}
}

void endpoint_send(struct cpu *cpu, struct thread *sender, const struct cap *cap, uint64_t info, enum send_kind kind)
{
	struct endpoint *endpoint = (struct endpoint *)cap->object;
	object_lock(&endpoint->lock);
	struct thread *receiver = endpoint->receiving ? endpoint->queue.head : 0;
	if (receiver) {
		thread_queue_remove(&endpoint->queue, receiver);
		object_lock_pair(&sender->lock, &receiver->lock);
		receiver->endpoint = 0;
		message_transfer(sender, receiver, info, cap->badge);
		sent(sender, receiver, kind == SEND_CALL);
		schedule_wake(cpu, receiver);
		object_unlock_pair(&sender->lock, &receiver->lock);
	} else if (kind != SEND_POLL) {
		sender->state = THREAD_SENDING;
		sender->calling = kind == SEND_CALL;
		sender->badge = cap->badge;
		sender->info = info;
		sender->endpoint = endpoint;
		endpoint->receiving = 0;
		thread_queue_append(&endpoint->queue, sender);
	}
	object_unlock(&endpoint->lock);
}

void endpoint_receive(struct cpu *cpu, struct endpoint *endpoint, struct reply *reply, bool block)
{
	struct thread *receiver = current(cpu);
	if (receiver->bound && notification_take(receiver->bound, receiver))
		return;
	object_lock(&endpoint->lock);
	struct thread *sender = endpoint->receiving ? 0 : endpoint->queue.head;
	if (sender) {
		thread_queue_remove(&endpoint->queue, sender);
		object_lock_pair(&sender->lock, &receiver->lock);
		sender->endpoint = 0;
		message_transfer(sender, receiver, sender->info, sender->badge);
		receiver->reply = reply;
		sent(sender, receiver, sender->calling);
		if (!sender->calling)
			schedule_wake(cpu, sender);
		object_unlock_pair(&sender->lock, &receiver->lock);
	} else if (!block) {
		thread_result(receiver, SKERRY_WOULD_BLOCK);
	} else {
		receiver->state = THREAD_RECEIVING;
		receiver->endpoint = endpoint;
		receiver->reply = reply;
		if (reply)
			reply->receiver = receiver;
		endpoint->receiving = 1;
		thread_queue_append(&endpoint->queue, receiver);
	}
	object_unlock(&endpoint->lock);
}

void endpoint_cancel(struct thread *thread)
{
	thread_queue_remove(&thread->endpoint->queue, thread);
	thread->endpoint = 0;
	if (thread->reply) {
		thread->reply->receiver = 0;
		thread->reply = 0;
	}
}

void endpoint_destroy(struct cpu *cpu, struct endpoint *endpoint)
{
	while (endpoint->queue.head) {
		struct thread *thread = endpoint->queue.head;
		endpoint_cancel(thread);
		if (thread->faulting) {
			thread->faulting = 0;
			thread->state = THREAD_INACTIVE;
		} else {
			thread_result(thread, SKERRY_DELETED);
			schedule_wake(cpu, thread);
		}
	}
}
