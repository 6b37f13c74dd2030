/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: synchronous messages. Of the two queues one at least is empty. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "lock.h"
#include "thread_queue.h"

struct cpu;
struct cap;
struct reply;

struct endpoint {
	struct object_lock lock;
	uint32_t references;
	struct thread_queue senders, receivers;
};
_Static_assert(sizeof(struct endpoint) <= 1u << ENDPOINT_BITS, "the ABI's endpoint size");

enum send_kind { SEND_WAIT, SEND_POLL, SEND_CALL };

/* The current thread (or, for a fault, `sender`) sends through `cap`; cannot fail. */
void endpoint_send(struct cpu *cpu, struct thread *sender, const struct cap *cap, uint64_t info, enum send_kind kind);
/* The current thread receives; `reply` (may be null) will hold a caller. Returns OK or WOULD_BLOCK. */
uint64_t endpoint_receive(struct cpu *cpu, struct endpoint *endpoint, struct reply *reply, bool block);
/* A thread that sends or receives leaves the queue. */
void endpoint_cancel(struct thread *thread);
/* Wakes all that wait; false when the quantum is over first. */
bool endpoint_destroy(struct cpu *cpu, struct endpoint *endpoint);
