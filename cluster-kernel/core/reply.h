/* SPDX-License-Identifier: BSD-2-Clause */
/* Reply objects: hold the caller of a received Call until it is answered. */
#pragma once

#include <stdint.h>
#include "lock.h"
#include "thread.h"

struct reply {
	struct object_lock lock;
	uint32_t references;
	uint8_t rights; /* of the endpoint capability it was received through: GRANT holds for the answer, too */
	struct thread *thread; /* RECEIVING with this reply object, or the caller in state REPLY */
};

/* Who is to be answered, or null. */
static inline struct thread *reply_caller(const struct reply *reply)
{
	return reply->thread && reply->thread->state == THREAD_REPLY ? reply->thread : 0;
}
_Static_assert(sizeof(struct reply) <= 1u << REPLY_BITS, "the ABI's reply size");

/* The current thread's message goes to the caller, which there is; it runs again. */
void reply_send(struct cpu *cpu, struct reply *reply, uint64_t info);
/* The caller waits no longer (it is being suspended). */
void reply_cancel(struct thread *caller);
void reply_destroy(struct cpu *cpu, struct reply *reply);
