/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock for the threads of a program of several cores. A waiter spins for a while, then sleeps on its thread's lock
 * notification, which nothing else signals; so no wake-up meant for a futex is taken here.
 *
 * The state is a mutex of three values (Drepper, Futexes Are Tricky, 2011, section 5). `sleepers` stands for the
 * futex's queue: a waiter adds its bit before it sets LOCK_AWAITED, and the holder that releases an awaited lock clears
 * one bit and signals that thread. A thread that was woken tries again with LOCK_AWAITED, since others may sleep yet.
 * There is no queue: threads are preempted and take page faults, and a queue would stand still behind such a thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef LOCK_SPINS
#define LOCK_SPINS 64 /* PAUSE each; some transfers of a cache line between sockets */
#endif

enum { LOCK_FREE, LOCK_HELD, LOCK_AWAITED };

struct lock {
	_Atomic int state;
	_Atomic uint32_t last;     /* the thread that was woken last */
	_Atomic uint64_t sleepers; /* a bit for each thread that sleeps, or is about to */
};

/* Provided by the platform: sleeps until thread `self` is signalled; a signal before that ends the sleep at once. */
void platform_lock_sleep(unsigned self);
void platform_lock_wake(unsigned thread);

static inline bool lock_is_held(const struct lock *lock)
{
	return atomic_load_explicit(&lock->state, memory_order_relaxed) != LOCK_FREE;
}

/* Takes the lock if it is free. */
static inline bool lock_try(struct lock *lock)
{
	int expected = LOCK_FREE;

	return atomic_compare_exchange_strong_explicit(&lock->state, &expected, LOCK_HELD, memory_order_acquire,
	                                               memory_order_relaxed);
}

/* Takes the lock for thread `self`, which has found it held. */
static inline void lock_wait(struct lock *lock, unsigned self)
{
	const uint64_t own = 1ull << self;

	for (int left = LOCK_SPINS; left > 0; left--) {
		__builtin_ia32_pause();
		if (!lock_is_held(lock) && lock_try(lock))
			return;
	}
	for (;;) {
		atomic_fetch_or_explicit(&lock->sleepers, own, memory_order_relaxed);
		/* release: a thread that finds it awaited sees the bit; acquire: it may have been free */
		if (atomic_exchange_explicit(&lock->state, LOCK_AWAITED, memory_order_acq_rel) == LOCK_FREE)
			break;
		platform_lock_sleep(self);
	}
	atomic_fetch_and_explicit(&lock->sleepers, ~own, memory_order_relaxed);
}

/*
 * Wakes one thread that sleeps, if there is any: the next in number behind the one that was woken last. A thread whose
 * bit is gone has taken the lock as an awaited one, or is awake and will: it wakes the next.
 */
static inline void lock_wake(struct lock *lock)
{
	const uint64_t sleepers = atomic_load_explicit(&lock->sleepers, memory_order_relaxed);
	const uint32_t last = atomic_load_explicit(&lock->last, memory_order_relaxed);
	const uint64_t behind = sleepers & ~1ull << last;

	if (!sleepers)
		return;
	const uint32_t next = (uint32_t)__builtin_ctzll(behind ? behind : sleepers);
	if (!(atomic_fetch_and_explicit(&lock->sleepers, ~(1ull << next), memory_order_relaxed) >> next & 1))
		return;
	atomic_store_explicit(&lock->last, next, memory_order_relaxed);
	platform_lock_wake(next);
}

static inline void lock_give(struct lock *lock)
{
	if (atomic_exchange_explicit(&lock->state, LOCK_FREE, memory_order_acq_rel) == LOCK_AWAITED)
		lock_wake(lock);
}
