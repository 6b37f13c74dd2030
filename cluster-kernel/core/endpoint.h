/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: synchronous messages. At least one of the two queues (senders, receivers) is empty. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "annotations.h"
#include "lock.h"
#include "notification.h"
#include "reply.h"
#include "thread_queue.h"
#include LOCKING_HEADER

struct cpu;
struct cap;

struct endpoint {
	struct object_lock lock;
	uint32_t references;
	struct thread_queue senders, receivers;
};
_Static_assert(sizeof(struct endpoint) <= 1u << ENDPOINT_BITS, "the ABI's endpoint size");

enum send_kind { SEND_WAIT, SEND_POLL, SEND_CALL };

/* `sender`, which makes a call, sends through `cap`; cannot fail. Returns OK, KERNEL_WAITS or KERNEL_AWAY. */
uint64_t endpoint_send(struct cpu *cpu, struct thread *sender, const struct cap *cap, uint64_t info,
                       enum send_kind kind);
/*
 * `receiver`, which makes a call, receives through `cap`; `reply` (may be null) will hold a caller.
 * Returns OK, BUSY (the reply object), WOULD_BLOCK, KERNEL_WAITS, KERNEL_AWAY, or KERNEL_EXCLUSIVE (for capabilities
 * that are sent).
 */
uint64_t endpoint_receive(struct cpu *cpu, struct thread *receiver, const struct cap *cap, struct reply *reply,
                          bool block);
/* Returns the first object that decides a receive and is away (visit.h); null if none is. */
static inline __attribute__((always_inline)) const struct object_lock *endpoint_away_to_receive(struct cpu *cpu,
	const struct thread *receiver, const struct endpoint *endpoint, const struct reply *reply)
{
	if (!object_here(cpu, &endpoint->lock))
		return &endpoint->lock;
	if (receiver->bound && !object_here(cpu, &receiver->bound->lock))
		return &receiver->bound->lock;
	return reply && !object_here(cpu, &reply->lock) ? &reply->lock : 0;
}
/*
 * Locks all objects that decide a receive. Hazard: lost wake-up. Under these locks either a signal finds the thread
 * receiving, or the thread finds the signal.
 */
static inline void endpoint_lock_to_receive(struct cpu *cpu, const struct thread *receiver, struct endpoint *endpoint,
                                            struct reply *reply) TAKES(endpoint->lock, reply->lock);
static inline void endpoint_unlock_to_receive(struct cpu *cpu, const struct thread *receiver, struct endpoint *endpoint,
                                              struct reply *reply) RELEASES(endpoint->lock, reply->lock);
NO_LOCK_ANALYSIS static inline __attribute__((always_inline)) void endpoint_lock_to_receive(struct cpu *cpu,
	const struct thread *receiver,
                                                                           struct endpoint *endpoint,
                                                                           struct reply *reply)
{
	kernel_assert(!receiver->bound || receiver->bound->bound == receiver);
	if (receiver->bound)
		object_lock(cpu, &receiver->bound->lock, LOCK_CLASS_NOTIFICATION);
	object_lock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
	reply_lock(cpu, reply);
}
NO_LOCK_ANALYSIS static inline __attribute__((always_inline)) void endpoint_unlock_to_receive(struct cpu *cpu,
	const struct thread *receiver,
                                                                             struct endpoint *endpoint,
                                                                             struct reply *reply)
{
	reply_unlock(cpu, reply);
	object_unlock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
	if (receiver->bound)
		object_unlock(cpu, &receiver->bound->lock, LOCK_CLASS_NOTIFICATION);
}
/* Takes a thread that sends or receives out of the endpoint's queue. Caller holds the endpoint's lock. */
void endpoint_cancel(struct cpu *cpu, struct thread *thread);
/*
 * Delivers the bound notification to the thread if it receives; returns false if it does not. Caller holds the lock of
 * the notification, which has been signalled. Also returns true, with cpu->own.signal_deferred set and nothing done,
 * where the endpoint or the reply object is away.
 */
bool endpoint_interrupt(struct cpu *cpu, struct thread *thread);
/* Wakes all waiting threads. Returns false when the budget is spent first. */
bool endpoint_destroy(struct cpu *cpu, struct endpoint *endpoint);
