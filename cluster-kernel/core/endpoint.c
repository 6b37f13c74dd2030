/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "reply.h"
#include "schedule.h"
#include "visit.h"
#include "work.h"
#include LOCKING_HEADER

/* Sets what the sender waits for, now that its message was received with `reply` (may be null). */
static inline __attribute__((always_inline)) void
sender_complete(struct thread *sender, struct reply *reply, bool calling)
{
	kernel_assert(thread_calls(sender) || thread_is(sender, THREAD_SENDING));
	if (reply)
		reply->thread = 0;
	if (calling && reply) {
		assert_held(&reply->lock);
		reply->thread = sender;
		sender->reply = reply;
		thread_become(sender, THREAD_REPLY);
	} else if (calling) { /* nobody can ever answer */
		if (!sender->faulting)
			thread_result(sender, SKERRY_OK);
		sender->faulting = 0;
		thread_become(sender, THREAD_INACTIVE);
	}
}

/* Transfers the message. The caller decides which of the two threads runs next. */
static inline __attribute__((always_inline)) void
endpoint_transfer(struct cpu *cpu, struct thread *sender, struct thread *receiver, uint64_t info,
		  uint64_t badge, bool grant)
{
	kernel_assert(sender != receiver);
	object_lock_pair(cpu, &sender->lock, &receiver->lock, LOCK_CLASS_TCB);
	message_transfer(sender, receiver, info, badge, grant);
	object_unlock_pair(cpu, &sender->lock, &receiver->lock, LOCK_CLASS_TCB);
}

static void wait_for_receiver(struct endpoint *endpoint, struct thread *sender, const struct cap *cap, uint64_t info,
                              bool calling)
	NEEDS(endpoint->lock);
static uint64_t receive_from_queue(struct cpu *cpu, struct endpoint *endpoint, struct thread *receiver,
                                   struct reply *reply) NEEDS(endpoint->lock);
static uint64_t wait_for_sender(struct endpoint *endpoint, struct thread *receiver,
                                struct reply *reply) NEEDS(endpoint->lock);
static uint64_t receive_or_wait(struct cpu *cpu, struct endpoint *endpoint, struct thread *receiver,
                                struct reply *reply, uint8_t rights,
                        bool block) NEEDS(endpoint->lock);

static void wait_for_receiver(struct endpoint *endpoint, struct thread *sender, const struct cap *cap, uint64_t info,
                              bool calling)
{
	assert_held(&endpoint->lock);
	kernel_assert(!endpoint->receivers.head && thread_calls(sender));
	sender->calling = calling;
	sender->grant = cap->rights & RIGHT_GRANT;
	sender->badge = cap->badge;
	sender->info = info;
	thread_waits_at(sender, endpoint, THREAD_SENDING);
	thread_queue_append(&endpoint->senders, sender);
}

uint64_t endpoint_send(struct cpu *cpu, struct thread *sender, const struct cap *cap, uint64_t info,
                       enum send_kind kind)
{
	assert_entered();
	kernel_assert(cap->type == OBJECT_ENDPOINT && (cap->rights & RIGHT_WRITE));
	kernel_assert(thread_calls(sender));
	struct endpoint *endpoint = (struct endpoint *)cap->object;
	uint64_t result = kind == SEND_CALL ? KERNEL_WAITS : SKERRY_OK;
	if (!object_here(cpu, &endpoint->lock))
		return defer_to_owner(cpu, &endpoint->lock);
	object_lock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
	kernel_assert(!endpoint->senders.head || !endpoint->receivers.head);
	struct thread *receiver = endpoint->receivers.head;
	if (receiver && receiver->reply && !object_here(cpu, &receiver->reply->lock)) {
		result = defer_to_owner(cpu, &receiver->reply->lock);
	} else if (receiver) {
		kernel_assert(thread_is(receiver, THREAD_RECEIVING) && thread_endpoint(receiver) == endpoint);
		struct reply *reply = receiver->reply;
		thread_queue_remove(&endpoint->receivers, receiver);
		reply_lock(cpu, reply);
		kernel_assert(!reply || reply->thread == receiver);
		endpoint_transfer(cpu, sender, receiver, info, cap->badge, cap->rights & RIGHT_GRANT);
		sender_complete(sender, reply, kind == SEND_CALL);
		reply_unlock(cpu, reply);
		schedule_wake(cpu, receiver);
	} else if (kind != SEND_POLL) {
		wait_for_receiver(endpoint, sender, cap, info, kind == SEND_CALL);
		result = KERNEL_WAITS;
	}
	object_unlock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
	return result;
}

/* Receives from the first sender in the queue. Out of line: servers mostly find none. */
static __attribute__((noinline)) uint64_t
receive_from_queue(struct cpu *cpu, struct endpoint *endpoint, struct thread *receiver, struct reply *reply)
{
	struct thread *sender = endpoint->senders.head;
	assert_held(&endpoint->lock);
	kernel_assert(thread_is(sender, THREAD_SENDING) && thread_endpoint(sender) == endpoint);
	if (sender->grant && message_caps(sender->info) && !kernel_exclusive(cpu))
		return KERNEL_EXCLUSIVE;
	thread_queue_take(&endpoint->senders, sender);
	endpoint_transfer(cpu, sender, receiver, sender->info, sender->badge, sender->grant);
	bool calling = sender->calling;
	if (!calling)
		thread_result(sender, SKERRY_OK);
	sender_complete(sender, reply, calling);
	if (!calling)
		schedule_wake(cpu, sender);
	return SKERRY_OK;
}

static uint64_t wait_for_sender(struct endpoint *endpoint, struct thread *receiver, struct reply *reply)
{
	assert_held(&endpoint->lock);
	kernel_assert(!endpoint->senders.head && thread_calls(receiver));
	kernel_assert(!reply || !reply->thread);
	receiver->reply = reply;
	if (reply)
		reply->thread = receiver;
	thread_waits_at(receiver, endpoint, THREAD_RECEIVING);
	thread_queue_append(&endpoint->receivers, receiver);
	return KERNEL_WAITS;
}

/* With all that is concerned locked. */
static uint64_t receive_or_wait(struct cpu *cpu, struct endpoint *endpoint, struct thread *receiver,
                                struct reply *reply, uint8_t rights,
                        bool block)
{
	assert_held(&endpoint->lock);
	if (reply) {
		if (reply->thread)
			return SKERRY_BUSY;
		reply->rights = rights;
	}
	if (notification_pending(receiver->bound)) {
		assert_held(&receiver->bound->lock);
		notification_take(receiver->bound, receiver);
		return SKERRY_OK;
	}
	if (endpoint->senders.head)
		return receive_from_queue(cpu, endpoint, receiver, reply);
	return block ? wait_for_sender(endpoint, receiver, reply) : SKERRY_WOULD_BLOCK;
}

uint64_t endpoint_receive(struct cpu *cpu, struct thread *receiver, const struct cap *cap, struct reply *reply,
                          bool block)
{
	assert_entered();
	kernel_assert(cap->type == OBJECT_ENDPOINT && (cap->rights & RIGHT_READ));
	struct endpoint *endpoint = (struct endpoint *)cap->object;
	const struct object_lock *away = endpoint_away_to_receive(cpu, receiver, endpoint, reply);
	if (away)
		return defer_to_owner(cpu, away);
	endpoint_lock_to_receive(cpu, receiver, endpoint, reply);
	uint64_t result = receive_or_wait(cpu, endpoint, receiver, reply, cap->rights, block);
	endpoint_unlock_to_receive(cpu, receiver, endpoint, reply);
	return result;
}

void endpoint_cancel(struct cpu *cpu, struct thread *thread)
{
	struct endpoint *endpoint = thread_endpoint(thread);
	assert_held(&endpoint->lock);
	bool sending = thread->state == THREAD_SENDING;
	kernel_assert(sending || thread_is(thread, THREAD_RECEIVING));
	thread_queue_remove(sending ? &endpoint->senders : &endpoint->receivers, thread);
	if (sending || !thread->reply)
		return;
	reply_lock(cpu, thread->reply);
	kernel_assert(thread->reply->thread == thread);
	thread->reply->thread = 0;
	reply_unlock(cpu, thread->reply);
}

bool endpoint_interrupt(struct cpu *cpu, struct thread *thread)
{
	assert_held(&thread->bound->lock);
	kernel_assert(thread->bound->bound == thread && thread->bound->word);
	if (thread_state(thread) != THREAD_RECEIVING)
		return false;
	struct endpoint *endpoint = thread_endpoint(thread);
	if (!object_here(cpu, &endpoint->lock))
		return signal_defer(cpu, &endpoint->lock);
	object_lock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
	/* a message may have come before */
	bool receives = thread_state(thread) == THREAD_RECEIVING && thread_endpoint(thread) == endpoint;
	if (receives && thread->reply && !object_here(cpu, &thread->reply->lock)) {
		signal_defer(cpu, &thread->reply->lock);
	} else if (receives) {
		endpoint_cancel(cpu, thread);
		notification_take(thread->bound, thread);
		schedule_wake(cpu, thread);
	}
	object_unlock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
	return receives;
}

bool endpoint_destroy(struct cpu *cpu, struct endpoint *endpoint)
{
	assert_exclusive();
	kernel_assert(!endpoint->senders.head || !endpoint->receivers.head);
	struct thread *thread;
	while ((thread = endpoint->senders.head ? endpoint->senders.head : endpoint->receivers.head)) {
		if (work_over(cpu))
			return false;
		kernel_assert(thread_endpoint(thread) == endpoint);
		work_done(cpu, WORK_WAKE);
		endpoint_cancel(cpu, thread);
		if (thread->faulting) {
			context_restart(&thread->context); /* no handler has received it: it is raised again */
			thread->faulting = 0;
			thread_become(thread, THREAD_INACTIVE);
		} else {
			thread_result(thread, SKERRY_DELETED);
			schedule_wake(cpu, thread);
		}
	}
	return true;
}
