/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping until the readiness of some file changes. One of the threads that
 * sleep here is the poller: it waits for the network port on the program's
 * wake notification and runs the stack when woken; the others wait on their
 * own. Futex waiters never poll.
 */
#include "layer.h"
#include "platform.h"

static struct thread *poller; /* sleeps on PLATFORM_NET */

__attribute__((weak)) bool net_poll(void) { return false; }
__attribute__((weak)) uint64_t net_deadline(void) { return 0; }
__attribute__((weak)) bool net_prepare_sleep(void) { return true; }

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a ? b : !b || a < b ? a : b;
}

/* Somebody must listen to the network as long as anybody sleeps. */
static void pass_on(const struct thread *self)
{
	for (struct thread *t = threads; t < threads + THREADS_MAX; t++)
		if (t != self && t->event_waiter) {
			thread_signal(t);
			return;
		}
}

bool event_wait(uint64_t deadline)
{
	struct thread *self = thread_self();

	bool happened = net_poll();
	if (deadline && clock_cycles() >= deadline)
		return false;
	if (happened)
		return true;
	if (poller) {
		self->event_waiter = true;
		thread_sleep(self, deadline);
		self->event_waiter = false;
		return true;
	}
	if (!net_prepare_sleep())
		return true;
	poller = self;
	uint64_t until = earlier(deadline, net_deadline());
	layer_unlock();
	platform_wait(PLATFORM_NET, until);
	layer_lock();
	poller = 0;
	pass_on(self);
	return true;
}

void event_notify(void)
{
	struct thread *self = thread_self();

	if (poller && poller != self)
		platform_signal(PLATFORM_NET);
	for (struct thread *t = threads; t < threads + THREADS_MAX; t++)
		if (t->event_waiter && t != self)
			thread_signal(t);
}
