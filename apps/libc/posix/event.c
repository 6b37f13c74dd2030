/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping until the readiness of some file changes. One of the threads that
 * sleep here is the poller: it waits for the network port on the program's
 * wake notification and runs the network when woken. The others, the waiters,
 * wait on their own notifications. The layer's lock protects the variables
 * below; the poller gives it up while it sleeps. Hazard: a lost wake-up, in
 * three ways:
 *
 *  - A thread runs the network while the poller sleeps. Its poll says that the
 *    process is awake (skerry/bell.h). It may make the first socket, start a
 *    timer, or leave frames that wait for room, none of which the poller knew
 *    when it went to sleep. So that thread, before it gives up the lock, arms
 *    the bell word and the flags of rings from other clusters again, and wakes
 *    the poller if there is an earlier deadline or something to do already:
 *    event_settle().
 *  - A thread runs the network and takes what another thread waits for. It calls
 *    event_notify(), which wakes the poller and all waiters.
 *  - The poller returns to its program and does not come back while waiters
 *    still sleep. So a thread that returns when there is no poller wakes a waiter,
 *    which becomes the poller or does the same in its turn: pass_on().
 *
 * Futex waiters never poll.
 *
 * In programs that fork the poller's notification is raised by other processes, too, when they have changed a pipe or a
 * socket pair that both have; event_poll() looks at these wherever it polls the network (family-stream.h).
 *
 * What the poller sends before it sleeps may make it signal other processes. The
 * last of these signals is made by the system call that puts it to sleep. One
 * before it may take a signal of PLATFORM_NET that is pending, which would end
 * that sleep at once. So the network is polled once more then.
 */
#include "family.h"
#include "layer.h"
#include "platform.h"
#include "family-stream.h"

static struct thread *poller; /* sleeps on PLATFORM_NET */
static uint64_t poller_until; /* when it wakes by itself; 0: never */
static unsigned waiters;      /* threads with event_waiter set */

__attribute__((weak)) bool net_poll(void) { return false; }
__attribute__((weak)) uint64_t net_deadline(void) { return 0; }
__attribute__((weak)) bool net_prepare_sleep(void) { return true; }
__attribute__((weak)) void net_hold_signal(void) {}
__attribute__((weak)) bool net_took_wake(void) { return false; }
__attribute__((weak)) uint64_t net_held_signal(void) { return 0; }

#ifdef LAYER_FAMILY
bool event_poll(void)
{
	const bool changed = family_stream_poll();

	return OF_NETWORK(net_poll(), false) || changed;
}

void event_forked(void)
{
	poller = 0;
	waiters = 0;
}
#endif

const struct thread *event_poller(void) { return poller; }

static uint64_t earlier_deadline(uint64_t a, uint64_t b)
{
	return !a ? b : !b || a < b ? a : b;
}

/* Wakes a waiter if there is no poller; it becomes the poller, or wakes the next. */
static void pass_on(const struct thread *self)
{
	for (struct thread *t = threads; waiters && t < threads + thread_places && !poller; t++)
		if (t != self && t->event_waiter) {
			thread_signal(t);
			return;
		}
}

/* Makes the sleeping poller wake by `deadline`, when the network's next timer is due. 0: there is no timer. */
static void hurry_poller(uint64_t deadline)
{
	require(poller);
	if (earlier_deadline(poller_until, deadline) == poller_until)
		return;
	poller_until = deadline;
	platform_signal(PLATFORM_NET);
}

void event_settle(void)
{
	require(layer_is_locked());
	if (!poller)
		return;
	if (OF_NETWORK(net_prepare_sleep(), true))
		hurry_poller(OF_NETWORK(net_deadline(), 0));
	else
		platform_signal(PLATFORM_NET);
}

void event_leave(void)
{
	event_poll();
	event_settle();
}

#ifdef LAYER_CORES
_Atomic bool event_has_sockets;

void event_leave_unlocked(void)
{
	if (!atomic_load_explicit(&event_has_sockets, memory_order_relaxed))
		return;
	layer_lock();
	event_leave();
	layer_unlock();
}
#endif

/* Sends the signals that net_hold_signal() has held back, for the caller does not sleep on PLATFORM_NET. */
static void signal_held(void)
{
	const uint64_t peer = OF_NETWORK(net_held_signal(), 0);

	if (peer)
		platform_signal_peer(peer);
}

bool event_wait(uint64_t deadline)
{
	struct thread *self = thread_self();

	require(layer_is_locked() && !self->event_waiter && poller != self);
	if (!poller) /* else PLATFORM_NET is not this thread's */
		OF_NETWORK(net_hold_signal(), (void)0);
	bool happened = event_poll(), late = deadline && clock_cycles() >= deadline;
	if (OF_NETWORK(net_took_wake(), false))
		happened |= event_poll();
	if (late || happened || !OF_NETWORK(net_prepare_sleep(), true) || OF_NETWORK(net_took_wake(), false)) {
		signal_held();
		return !late;
	}
	if (poller) {
		hurry_poller(OF_NETWORK(net_deadline(), 0));
		self->event_waiter = true;
		waiters++;
		thread_sleep(self, deadline);
		require(waiters && self->event_waiter);
		self->event_waiter = false;
		waiters--;
	} else {
		uint64_t until = poller_until = earlier_deadline(deadline, OF_NETWORK(net_deadline(), 0));
		uint64_t peer = OF_NETWORK(net_held_signal(), 0);
		poller = self;
		layer_unlock();
		platform_signal_wait(peer, PLATFORM_NET, until);
		layer_lock();
		require(poller == self);
		poller = 0;
		event_poll(); /* takes what has ended the sleep, nearly always */
	}
	pass_on(self);
	return true;
}

void event_notify(void)
{
	require(waiters < THREADS_MAX);
	if (!poller && !waiters) /* nobody sleeps here: nearly always */
		return;
	struct thread *self = thread_self();

	if (poller && poller != self)
		platform_signal(PLATFORM_NET);
	for (struct thread *t = threads; waiters && t < threads + thread_places; t++)
		if (t->event_waiter && t != self)
			thread_signal(t);
}
