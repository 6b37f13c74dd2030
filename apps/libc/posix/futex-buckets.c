/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Futexes of a program on several cores (LAYER_CORES): buckets by address, each with a lock and a queue of the threads
 * that wait, as in Linux. No call takes the layer's lock. Lock order: the layer's lock, then buckets in the order of
 * their addresses.
 *
 * A thread compares and enters the queue under the bucket's lock; then it sleeps on its own notification. A waker takes
 * threads out of the queue under the lock and signals all of them afterwards, by one system call. Hazard: a lost or a
 * doubled wake-up. A thread has been woken if and only if a waker has taken it out of the queue. So one that gives up,
 * at its deadline or cancelled, takes itself out under the lock; where it is out already, its wait succeeds.
 *
 * Hazard: a signal that comes late. A thread may find that it was taken out before the waker has signalled it, and that
 * signal ends a later sleep of its own too soon. All sleeps of the layer allow for that.
 */
#include <errno.h>
#include "layer.h"
#include "platform.h"

#ifndef FUTEX_BUCKET_BITS
#define FUTEX_BUCKET_BITS 8
#endif

static struct bucket {
	_Alignas(64) struct lock lock;
	struct thread *first, *last; /* in order of their waits */
} buckets[1 << FUTEX_BUCKET_BITS];

static struct bucket *bucket_of(const uint32_t *address)
{
	const uint32_t hash = (uint32_t)((uintptr_t)address >> 2) * 0x9e3779b9u; /* Knuth, TAOCP 6.4 */

	return &buckets[hash >> (32 - FUTEX_BUCKET_BITS)];
}

/* `self` is the calling thread; null: it is looked up where that matters. */
static void bucket_lock(struct bucket *bucket, const struct thread *self)
{
	if (!lock_try(&bucket->lock))
		lock_wait(&bucket->lock, (self ? self : thread_self())->index);
}

static void bucket_unlock(struct bucket *bucket)
{
	require(lock_is_held(&bucket->lock));
	lock_give(&bucket->lock);
}

static uint32_t value_at(const uint32_t *address) { return __atomic_load_n(address, __ATOMIC_RELAXED); }

static void append(struct bucket *bucket, struct thread *thread, const uint32_t *address)
{
	require(lock_is_held(&bucket->lock) && bucket_of(address) == bucket);
	thread->futex_next = 0;
	*(bucket->first ? &bucket->last->futex_next : &bucket->first) = thread;
	bucket->last = thread;
	atomic_store_explicit(&thread->futex, address, memory_order_relaxed);
}

/* Takes a thread out; `before` stands before it in the queue, null: none does. The caller writes what it waits for. */
static void take_out(struct bucket *bucket, struct thread *before, struct thread *thread)
{
	require(lock_is_held(&bucket->lock));
	*(before ? &before->futex_next : &bucket->first) = thread->futex_next;
	if (bucket->last == thread)
		bucket->last = before;
}

/* Takes out up to `count` threads that wait at `address`, the longest waiters first. Returns them, a bit for each. */
static uint64_t take_waiters(struct bucket *bucket, const uint32_t *address, int count)
{
	struct thread *before = 0, *next;
	uint64_t taken = 0;

	for (struct thread *t = bucket->first; t && count > 0; t = next) {
		next = t->futex_next; /* the thread may wait again, elsewhere, as soon as it is out */
		if (atomic_load_explicit(&t->futex, memory_order_relaxed) != address) {
			before = t;
			continue;
		}
		take_out(bucket, before, t);
		taken |= 1ull << t->index;
		count--;
		atomic_store_explicit(&t->futex, 0, memory_order_release);
	}
	return taken;
}

int futex_wake_by(const struct thread *self, const uint32_t *address, int count)
{
	struct bucket *bucket = bucket_of(address);

	bucket_lock(bucket, self);
	const uint64_t woken = take_waiters(bucket, address, count);
	bucket_unlock(bucket);
	platform_signal_set(woken);
	return __builtin_popcountll(woken);
}

int futex_wake(const uint32_t *address, int count) { return futex_wake_by(0, address, count); }

/* Moves up to `count` threads of those that wait at `from` now. Returns how many. The caller holds both locks. */
static int move_waiters(struct bucket *source, const uint32_t *from, struct bucket *target, const uint32_t *to,
                        int count)
{
	struct thread *before = 0, *next, *const last = source->last;
	int moved = 0;

	for (struct thread *t = source->first; t && moved < count; t = next) {
		next = t == last ? 0 : t->futex_next; /* in one queue, those that are moved come behind */
		if (atomic_load_explicit(&t->futex, memory_order_relaxed) != from) {
			before = t;
			continue;
		}
		take_out(source, before, t);
		append(target, t, to);
		moved++;
	}
	return moved;
}

int futex_requeue(const uint32_t *from, const uint32_t *to, int wake, int move, const uint32_t *expected)
{
	struct bucket *source = bucket_of(from), *target = bucket_of(to), *lower = source < target ? source : target;
	uint64_t woken = 0;
	int moved = 0;

	bucket_lock(lower, 0);
	if (source != target)
		bucket_lock(lower == source ? target : source, 0);
	const bool fits = !expected || value_at(from) == *expected;
	if (fits) {
		woken = take_waiters(source, from, wake);
		moved = move_waiters(source, from, target, to, move);
	}
	if (source != target)
		bucket_unlock(target);
	bucket_unlock(source);
	platform_signal_set(woken);
	return fits ? __builtin_popcountll(woken) + moved : -EAGAIN;
}

/* Takes the calling thread out of its queue, to which it may be moved meanwhile. Returns false if it was woken. */
static bool give_up(struct thread *self)
{
	const uint32_t *address;

	while ((address = atomic_load_explicit(&self->futex, memory_order_acquire))) {
		struct bucket *bucket = bucket_of(address);
		struct thread *before = 0;
		bucket_lock(bucket, self);
		const bool waits = atomic_load_explicit(&self->futex, memory_order_relaxed) == address;
		for (struct thread *t = bucket->first; waits && t != self; t = t->futex_next)
			before = t;
		if (waits) {
			take_out(bucket, before, self);
			atomic_store_explicit(&self->futex, 0, memory_order_relaxed);
		}
		bucket_unlock(bucket);
		if (waits)
			return true;
	}
	return false;
}

/* Enters the queue if the word is as expected. */
static bool begin_wait(struct thread *self, const uint32_t *address, uint32_t expected)
{
	struct bucket *bucket = bucket_of(address);

	bucket_lock(bucket, self);
	const bool waits = value_at(address) == expected;
	if (waits)
		append(bucket, self, address);
	bucket_unlock(bucket);
	return waits;
}

int futex_wait(const uint32_t *address, uint32_t expected, uint64_t deadline)
{
	struct thread *self = thread_self();

	require(!atomic_load_explicit(&self->futex, memory_order_relaxed) && !self->event_waiter);
	if (value_at(address) != expected) /* a page fault, if any, comes here, not under the lock */
		return -EAGAIN;
	event_leave_unlocked();
	if (!begin_wait(self, address, expected))
		return -EAGAIN;
	for (;;) {
		if (thread_cancelled(self))
			return give_up(self) ? -EINTR : 0;
		platform_wait(self->index, deadline);
		if (!atomic_load_explicit(&self->futex, memory_order_acquire)) /* woken */
			return 0;
		if (deadline && clock_cycles() >= deadline)
			return give_up(self) ? -ETIMEDOUT : 0;
	}
}
