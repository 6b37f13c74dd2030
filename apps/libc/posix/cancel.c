/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cancellation. pthread_cancel() sets the target's `cancel` word, then sends SIGCANCEL with tkill(). Its handler never
 * runs, the layer does the rest: tkill() wakes the target, and if it sleeps in a cancellation point (musl-assembly.c)
 * its call returns
 * -EINTR, on which musl's __syscall_cp_c() ends the thread. A call that had its effect returns that instead, so no data
 * is lost. A thread that computes, or sleeps elsewhere, is cancelled at its next cancellation point, whatever its type.
 */
#include <errno.h>
#include "family.h"
#include "layer.h"
#include "platform.h"

intptr_t cancel_offset; /* the same in each thread: of a member in musl's struct */

bool thread_cancelled(const struct thread *thread) { return thread->cancel && UNLOCKED_READ(*thread->cancel); }

/* The lock is held from this look until the thread sleeps, and by tkill(): the wake-up cannot be lost. */
int event_sleep(uint64_t deadline)
{
	if (thread_cancelled(thread_self()))
		return -EINTR;
#ifdef LAYER_FAMILY
	const bool received = family_receive();
	if (signal_is_due(signal_state_of(thread_self())))
		return -EINTR;
	if (received)
		return 0;
#endif
	return event_wait(deadline) ? 0 : -EAGAIN;
}

long thread_interrupt(int tid)
{
	require(layer_is_locked() && tid > 0);
	for (struct thread *t = threads; t < threads + thread_places; t++)
		if (t->tid == tid) {
#ifndef LAYER_CORES
			if (t->futex)
#endif
				thread_signal(t); /* several cores: it may be about to wait, without the layer's lock */
			event_notify();
			return 0;
		}
	return -ESRCH;
}
