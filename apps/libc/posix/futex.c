/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Futexes: with so few threads, the table of threads is the wait queue. The
 * layer's lock makes comparing and going to sleep one step.
 */
#include <errno.h>
#include "family.h"
#include "layer.h"

enum {
	FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_REQUEUE = 3, FUTEX_CMP_REQUEUE = 4,
	FUTEX_WAIT_BITSET = 9, FUTEX_WAKE_BITSET = 10,
	FUTEX_PRIVATE = 128, FUTEX_CLOCK_REALTIME = 256,
};

#ifndef LAYER_CORES /* else: futex-buckets.c */

static uint64_t order;

static struct thread *longest_waiter(const uint32_t *address)
{
	struct thread *first = 0;

	for (struct thread *t = threads; t < threads + thread_places; t++)
		if (t->tid && t->futex == address && (!first || t->futex_order < first->futex_order))
			first = t;
	return first;
}

int futex_wake(const uint32_t *address, int count)
{
	struct thread *t;
	int woken = 0;

	while (woken < count && (t = longest_waiter(address))) {
		require(t != thread_self());
		t->futex = 0;
		thread_signal(t);
		woken++;
	}
	return woken;
}

static int futex_requeue(const uint32_t *from, const uint32_t *to, int count)
{
	struct thread *t;
	int moved = 0;

	while (moved < count && (t = longest_waiter(from))) {
		t->futex = to;
		t->futex_order = ++order;
		moved++;
	}
	return moved;
}

static int futex_wait(const uint32_t *address, uint32_t expected, uint64_t deadline)
{
	struct thread *self = thread_self();

	if (__atomic_load_n(address, __ATOMIC_RELAXED) != expected)
		return -EAGAIN;
	require(layer_is_locked() && !self->futex && !self->event_waiter);
	event_leave();
	self->futex = address;
	self->futex_order = ++order;
	for (;;) {
		bool ends = thread_cancelled(self);
#ifdef LAYER_FAMILY
		family_receive(); /* none that it has let in is told of later: all that wait look at the queue */
		ends |= signal_is_due(signal_state_of(self));
#endif
		if (ends) {
			self->futex = 0;
			return -EINTR;
		}
		thread_sleep(self, deadline);
		if (!self->futex) /* woken: a wake-up is never lost to a thread that was also cancelled */
			return 0;
		if (deadline && clock_cycles() >= deadline) {
			self->futex = 0;
			return -ETIMEDOUT;
		}
	}
}

#endif

/* FUTEX_WAIT_BITSET's time is absolute, by the monotonic or the real-time clock. */
static uint64_t absolute_deadline(const struct timespec *when, bool realtime)
{
	int64_t clock_realtime_offset(void);

	if (!when)
		return 0;
	int64_t left = timespec_nanoseconds(when) - (int64_t)clock_nanoseconds() -
	               (realtime ? clock_realtime_offset() : 0);
	return deadline_after(left > 0 ? (uint64_t)left : 0);
}

long sys_futex(const long *a)
{
	const uint32_t *address = (const uint32_t *)a[0];
	const struct timespec *time = (const struct timespec *)a[3];
	int count = (int)a[2];

	switch (a[1] & ~(FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME)) {
	case FUTEX_WAIT:
		if (time && !timespec_valid(time))
			return -EINVAL;
		return futex_wait(address, (uint32_t)a[2], deadline_after_timespec(time));
	case FUTEX_WAIT_BITSET:
		if (time && !timespec_valid(time))
			return -EINVAL;
		return futex_wait(address, (uint32_t)a[2], absolute_deadline(time, a[1] & FUTEX_CLOCK_REALTIME));
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return futex_wake(address, count);
#ifdef LAYER_CORES
	case FUTEX_CMP_REQUEUE: {
		const uint32_t expected = (uint32_t)a[5];
		return futex_requeue(address, (const uint32_t *)a[4], count, (int)a[3], &expected);
	}
	case FUTEX_REQUEUE:
		return futex_requeue(address, (const uint32_t *)a[4], count, (int)a[3], 0);
#else
	case FUTEX_CMP_REQUEUE:
		if (*address != (uint32_t)a[5])
			return -EAGAIN;
		/* fall through */
	case FUTEX_REQUEUE:
		count = futex_wake(address, count);
		return count + futex_requeue(address, (const uint32_t *)a[4], (int)a[3]);
#endif
	default:
		return -ENOSYS; /* priority inheritance; musl asks and does without */
	}
}
