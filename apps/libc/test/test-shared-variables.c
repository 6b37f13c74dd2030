/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the compiler, with the arguments of the layer's unit, keeps static
 * variables that a lock protects in memory across a call of a function that
 * gives up the lock and waits, as thread_sleep() does. Nothing but that
 * function's instructions says that others run meanwhile.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static unsigned waiters, seen; /* under the lock */
static _Atomic int held, asleep, woken;

static inline void pause_once(void) { __asm__ volatile("pause" ::: "memory"); }

static void lock(void)
{
	while (atomic_exchange_explicit(&held, 1, memory_order_acquire))
		pause_once();
}

static void unlock(void) { atomic_store_explicit(&held, 0, memory_order_release); }

static __attribute__((noinline)) void nap(void)
{
	unlock();
	atomic_store_explicit(&asleep, 1, memory_order_release);
	while (!atomic_load_explicit(&woken, memory_order_acquire))
		pause_once();
	lock();
}

static __attribute__((noinline)) unsigned wait_once(void)
{
	waiters++;
	nap();
	return waiters--;
}

static void *wake(void *argument)
{
	while (!atomic_load_explicit(&asleep, memory_order_acquire))
		pause_once();
	lock();
	seen = waiters++;
	unlock();
	atomic_store_explicit(&woken, 1, memory_order_release);
	return argument;
}

int main(void)
{
	pthread_t waker;

	if (pthread_create(&waker, 0, wake, 0))
		return 99;
	lock();
	const unsigned after = wait_once();
	unlock();
	pthread_join(waker, 0);
	printf("the other thread saw %u waiters (1 expected), and left %u (2 expected)\n", seen, after);
	return seen != 1 || after != 2;
}
