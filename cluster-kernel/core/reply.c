/* SPDX-License-Identifier: BSD-2-Clause */
#include "reply.h"
#include "kernel.h"
#include "message.h"
#include "schedule.h"

void reply_cancel(struct thread *caller)
{
	caller->reply->thread = 0;
}

void reply_send(struct cpu *cpu, struct reply *reply, uint64_t info)
{
	struct thread *sender = current(cpu);
	struct thread *caller = reply->thread;
	object_lock_pair(&sender->lock, &caller->lock);
	reply->thread = 0;
	if (!caller->faulting) {
		message_transfer(sender, caller, info, 0, reply->rights & RIGHT_GRANT);
		schedule_wake(cpu, caller);
	} else {
		caller->faulting = 0;
		caller->state = THREAD_INACTIVE;
		if (message_label(info) == 0)
			schedule_wake(cpu, caller);
	}
	object_unlock_pair(&sender->lock, &caller->lock);
}

void reply_destroy(struct cpu *cpu, struct reply *reply)
{
	struct thread *caller = reply_caller(reply);
	if (!caller) {
		if (reply->thread)
			reply->thread->reply = 0;
		return;
	}
	reply_cancel(caller);
	if (caller->faulting) {
		caller->faulting = 0;
		caller->state = THREAD_INACTIVE;
	} else {
		thread_result(caller, SKERRY_DELETED);
		schedule_wake(cpu, caller);
	}
}
