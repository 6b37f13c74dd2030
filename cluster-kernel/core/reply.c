/* SPDX-License-Identifier: BSD-2-Clause */
#include "reply.h"
#include "kernel.h"
#include "message.h"
#include "schedule.h"
#include "visit.h"

void reply_cancel(struct thread *caller)
{
	assert_held(&caller->reply->lock);
	kernel_assert(thread_is(caller, THREAD_REPLY) && caller->reply->thread == caller);
	caller->reply->thread = 0;
}

/* Ends a fault: the thread keeps its registers, and runs on if the answer's label is 0. */
static __attribute__((noinline)) void end_fault(struct cpu *cpu, struct thread *thread, uint64_t info)
{
	kernel_assert(thread->faulting && thread_is(thread, THREAD_REPLY));
	thread->faulting = 0;
	thread_become(thread, THREAD_INACTIVE);
	if (message_label(info) == 0)
		schedule_wake(cpu, thread);
}

static void reply_transfer(struct cpu *cpu, struct thread *sender, struct reply *reply, struct thread *caller,
			   uint64_t info) NEEDS(reply->lock);
static void reply_transfer(struct cpu *cpu, struct thread *sender, struct reply *reply, struct thread *caller,
			   uint64_t info)
{
	assert_held(&reply->lock);
	kernel_assert(thread_is(caller, THREAD_REPLY) && caller->reply == reply);
	kernel_assert(caller != sender);
	reply->thread = 0;
	if (caller->faulting) {
		end_fault(cpu, caller, info);
		return;
	}
	object_lock_pair(cpu, &sender->lock, &caller->lock, LOCK_CLASS_TCB);
	message_transfer(sender, caller, info, 0, reply->rights & RIGHT_GRANT);
	object_unlock_pair(cpu, &sender->lock, &caller->lock, LOCK_CLASS_TCB);
	schedule_wake(cpu, caller);
}

uint64_t reply_send(struct cpu *cpu, struct thread *sender, struct reply *reply, uint64_t info)
{
	assert_entered();
	if (!object_here(cpu, &reply->lock))
		return defer_to_owner(cpu, &reply->lock);
	object_lock(cpu, &reply->lock, LOCK_CLASS_TCB);
	struct thread *caller = reply_caller(reply);
	if (caller)
		reply_transfer(cpu, sender, reply, caller, info);
	object_unlock(cpu, &reply->lock, LOCK_CLASS_TCB);
	return caller ? SKERRY_OK : SKERRY_NO_REPLY;
}

void reply_destroy(struct cpu *cpu, struct reply *reply)
{
	assert_exclusive();
	assert_held(&reply->lock);
	kernel_assert(!reply->references);
	struct thread *caller = reply_caller(reply);
	if (!caller) {
		if (reply->thread)
			reply->thread->reply = 0;
		return;
	}
	reply_cancel(caller);
	if (caller->faulting) {
		caller->faulting = 0;
		thread_become(caller, THREAD_INACTIVE);
	} else {
		thread_result(caller, SKERRY_DELETED);
		schedule_wake(cpu, caller);
	}
}
