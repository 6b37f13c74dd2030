/* SPDX-License-Identifier: BSD-2-Clause */
/* Notifications: a word of bits, and the threads that wait for it to be non-zero. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "annotations.h"
#include "lock.h"
#include "thread_queue.h"

struct cap;
struct cpu;

struct notification {
	struct object_lock lock;
	uint32_t references;
	uint64_t word;
	struct thread_queue waiters;
	struct thread *bound; /* its receives are ended by a signal */
};
_Static_assert(sizeof(struct notification) <= 1u << NOTIFICATION_BITS, "the ABI's notification size");

/* An unbadged capability (badge 0) signals bit 0. Where it sets signal_deferred (visit.h), nothing was done. */
void notification_signal(struct cpu *cpu, struct notification *notification, uint64_t badge);
/* `thread`, which makes a call, waits; `deadline` in TSC cycles, 0: none. Returns OK, TIMED_OUT,
 * KERNEL_WAITS, KERNEL_AWAY, or KERNEL_EXCLUSIVE (a deadline, of a notification that is away). */
uint64_t notification_wait(struct cpu *cpu, struct thread *thread, struct notification *notification,
                           uint64_t deadline);
/* Takes the word for a Poll of `thread`. Returns OK or KERNEL_AWAY. */
uint64_t notification_poll(struct cpu *cpu, struct thread *thread, struct notification *notification);
/* Ends the wait of a thread of this core whose deadline has passed. Returns false if the thread was no longer
 * waiting. */
bool notification_time_out(struct cpu *cpu, struct notification *notification, struct thread *thread);
/* There is a word to take; null is allowed. */
static inline bool notification_pending(const struct notification *notification)
{
	return notification && notification->word;
}
/* For a receive of `thread`, its bound thread: delivers the pending word. */
void notification_take(struct notification *notification, struct thread *thread) NEEDS(notification->lock);
/* Takes a waiting thread out of the notification's queue. Caller holds the notification's lock. */
void notification_cancel(struct thread *thread);
/* Signals for an interrupt or a doorbell; the capability may be null. If it sets writer_wanted, nothing was done. */
void notification_signal_cap(struct cpu *cpu, const struct cap *cap);
/* Wakes all waiting threads. Returns false when the budget is spent first. */
bool notification_destroy(struct cpu *cpu, struct notification *notification);
