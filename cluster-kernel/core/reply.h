/* SPDX-License-Identifier: BSD-2-Clause */
/* Reply objects: hold the caller of a received Call until it is answered. */
#pragma once

#include <stdint.h>
#include "annotations.h"
#include "lock.h"
#include "thread.h"
#include LOCKING_HEADER

struct reply {
	struct object_lock lock;
	uint32_t references;
	uint8_t rights; /* of the endpoint capability it was received through: GRANT holds for the answer, too */
	struct thread *thread; /* RECEIVING with this reply object, or the caller in state REPLY */
};

/* Returns the caller that is to be answered, or null. */
static inline struct thread *reply_caller(const struct reply *reply) NEEDS(reply->lock);
static inline struct thread *reply_caller(const struct reply *reply)
{
	assert_held(&reply->lock);
	kernel_assert(!reply->thread || reply->thread->reply == reply);
	return reply->thread && reply->thread->state == THREAD_REPLY ? reply->thread : 0;
}
/*
 * `reply` may be null. The lock guards `thread`, and the change of that thread's state when it leaves the reply object.
 */
static inline void reply_lock(struct cpu *cpu, struct reply *reply) TAKES(reply->lock);
static inline void reply_unlock(struct cpu *cpu, struct reply *reply) RELEASES(reply->lock);
NO_LOCK_ANALYSIS static inline __attribute__((always_inline)) void reply_lock(struct cpu *cpu, struct reply *reply)
{
	if (reply)
		object_lock(cpu, &reply->lock, LOCK_CLASS_TCB);
}
NO_LOCK_ANALYSIS static inline __attribute__((always_inline)) void reply_unlock(struct cpu *cpu, struct reply *reply)
{
	if (reply)
		object_unlock(cpu, &reply->lock, LOCK_CLASS_TCB);
}
_Static_assert(sizeof(struct reply) <= 1u << REPLY_BITS, "the ABI's reply size");

/* The message of `sender` goes to the caller, which runs again. Returns OK, NO_REPLY (there is none) or
 * KERNEL_AWAY. */
uint64_t reply_send(struct cpu *cpu, struct thread *sender, struct reply *reply, uint64_t info);
/* Ends the caller's wait, because it is being suspended. */
void reply_cancel(struct thread *caller);
void reply_destroy(struct cpu *cpu, struct reply *reply);
