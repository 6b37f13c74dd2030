/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "reply.h"
#include "schedule.h"
#include "work.h"

/* The sender's message was received with `reply`, which may be null: what the sender waits for now. */
static void sent(struct thread *sender, struct reply *reply, bool calling)
{
	if (reply)
		reply->thread = 0;
	if (calling && reply) {
		reply->thread = sender;
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
	struct thread *receiver = endpoint->receivers.head;
	if (receiver) {
		thread_queue_remove(&endpoint->receivers, receiver);
		object_lock_pair(&sender->lock, &receiver->lock);
		message_transfer(sender, receiver, info, cap->badge, cap->rights & RIGHT_GRANT);
		sent(sender, receiver->reply, kind == SEND_CALL);
		schedule_wake(cpu, receiver);
		object_unlock_pair(&sender->lock, &receiver->lock);
	} else if (kind != SEND_POLL) {
		sender->state = THREAD_SENDING;
		sender->calling = kind == SEND_CALL;
		sender->grant = cap->rights & RIGHT_GRANT;
		sender->badge = cap->badge;
		sender->info = info;
		sender->endpoint = endpoint;
		thread_queue_append(&endpoint->senders, sender);
	}
	object_unlock(&endpoint->lock);
}

/* The first of the senders has waited for this. Out of line: servers mostly find none. */
static __attribute__((noinline)) void accept(struct cpu *cpu, struct endpoint *endpoint, struct thread *receiver,
                                             struct reply *reply)
{
	struct thread *sender = endpoint->senders.head;
	thread_queue_take(&endpoint->senders, sender);
	object_lock_pair(&sender->lock, &receiver->lock);
	message_transfer(sender, receiver, sender->info, sender->badge, sender->grant);
	sent(sender, reply, sender->calling);
	if (!sender->calling) {
		thread_result(sender, SKERRY_OK);
		schedule_wake(cpu, sender);
	}
	object_unlock_pair(&sender->lock, &receiver->lock);
}

static void wait_for_sender(struct endpoint *endpoint, struct thread *receiver, struct reply *reply)
{
	receiver->state = THREAD_RECEIVING;
	receiver->endpoint = endpoint;
	receiver->reply = reply;
	if (reply)
		reply->thread = receiver;
	thread_queue_append(&endpoint->receivers, receiver);
}

uint64_t endpoint_receive(struct cpu *cpu, struct endpoint *endpoint, struct reply *reply, bool block)
{
	struct thread *receiver = current(cpu);
	uint64_t result = SKERRY_OK;
	if (notification_pending(receiver->bound)) {
		notification_take(receiver->bound, receiver);
		return result;
	}
	object_lock(&endpoint->lock);
	if (endpoint->senders.head)
		accept(cpu, endpoint, receiver, reply);
	else if (block)
		wait_for_sender(endpoint, receiver, reply);
	else
		result = SKERRY_WOULD_BLOCK;
	object_unlock(&endpoint->lock);
	return result;
}

void endpoint_cancel(struct thread *thread)
{
	bool sending = thread->state == THREAD_SENDING;
	thread_queue_remove(sending ? &thread->endpoint->senders : &thread->endpoint->receivers, thread);
	if (!sending && thread->reply)
		thread->reply->thread = 0;
}

bool endpoint_destroy(struct cpu *cpu, struct endpoint *endpoint)
{
	struct thread *thread;
	while ((thread = endpoint->senders.head ? endpoint->senders.head : endpoint->receivers.head)) {
		if (work_over(cpu))
			return false;
		work_done(cpu, WORK_WAKE);
		endpoint_cancel(thread);
		if (thread->faulting) {
			thread->faulting = 0;
			thread->state = THREAD_INACTIVE;
		} else {
			thread_result(thread, SKERRY_DELETED);
			schedule_wake(cpu, thread);
		}
	}
	return true;
}
