/* SPDX-License-Identifier: BSD-2-Clause */
/* Reply objects: hold the caller of a received Call until it is answered. */
#pragma once

#include <stdint.h>
#include "lock.h"
#include "thread.h"

struct reply {
	struct object_lock lock;
	uint32_t references;
	struct thread *caller;   /* state REPLY */
	struct thread *receiver; /* state RECEIVING, with this reply object */
};
_Static_assert(sizeof(struct reply) <= 1u << REPLY_BITS, "the ABI's reply size");

/* The current thread's message goes to the caller, which there is; it runs again. */
void reply_send(struct cpu *cpu, struct reply *reply, uint64_t info);
/* The caller waits no longer (it is being suspended). */
void reply_cancel(struct thread *caller);
void reply_destroy(struct cpu *cpu, struct reply *reply);
