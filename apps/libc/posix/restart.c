/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that a signal ends: of programs that fork, and of others from the first signal on that has to interrupt a
 * thread (interrupt.c).
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include "family.h"
#include "signals.h"

#ifdef LAYER_FAMILY
static bool signals_came(void) { return family_due || family_queued; }

static void take_signals(void)
{
	family_receive();
	family_queued = false;
}
#else
static bool signals_came(void) { return signal_any(); }
static void take_signals(void) {}
#endif

/* Returns the mask that the call sets while it waits, or null. */
static const uint64_t *mask_of(long number, const long *a)
{
	switch (number) {
	case SYS_ppoll:
		return (const uint64_t *)a[3];
	case SYS_epoll_pwait:
		return (const uint64_t *)a[4];
	case SYS_pselect6:
		return a[5] ? *(const uint64_t *const *)a[5] : 0;
	default:
		return 0;
	}
}

/* Returns whether a call on the file has a deadline. */
static bool has_deadline(long number, const struct file *file)
{
	switch (number) {
	case SYS_read: case SYS_readv: case SYS_recvfrom: case SYS_recvmsg: case SYS_accept: case SYS_accept4:
		return file && file->receive_timeout;
	case SYS_write: case SYS_writev: case SYS_sendto: case SYS_sendmsg: case SYS_connect:
		return file && file->send_timeout;
	default:
		return false;
	}
}

/* Returns whether SA_RESTART makes a call again (signal(7) of Linux's manual); never where it has a deadline, which
 * would begin again with it. */
static bool may_restart(long number, const long *a)
{
	switch (number) {
	case SYS_poll: case SYS_ppoll: case SYS_select: case SYS_pselect6: case SYS_epoll_wait: case SYS_epoll_pwait:
	case SYS_pause: case SYS_rt_sigsuspend: case SYS_rt_sigtimedwait: case SYS_nanosleep: case SYS_clock_nanosleep:
		return false;
	case SYS_futex:
		return !a[3];
	default:
		return !has_deadline(number, descriptor_file((int)a[0]));
	}
}

/* Delivers what has come. Returns whether the call, which a signal has ended, is made again. */
static bool deliver(long number, const long *arguments, uint64_t after, long result)
{
	struct thread *self = thread_self();
	struct signal_state *s = signal_state_of(self);

	layer_lock();
	if (result != -EINTR)
		s->blocked = after;
	take_signals();
	s->restarts = true;
	if (!signal_deliver(self, after))
		s->blocked = after;
	event_settle();
	self = thread_self(); /* another in the child of a handler that forks */
	const bool again = result == -EINTR && signal_state_of(self)->restarts && may_restart(number, arguments);
	layer_unlock();
	return again && !thread_cancelled(self);
}

long signal_call(long number, const long *arguments, long (*call)(long, const long *))
{
	const volatile int *cancel = thread_self()->cancel; /* interrupt() may set another */
	bool again;
	long result;

	calls_enter();
	if (cancel == &signal_interrupted) /* set when the thread had just left its last call */
		cancel = 0;
	thread_self()->cancel = cancel;
	do {
		const uint64_t *mask = mask_of(number, arguments);
		struct signal_state *s = signal_state_of(thread_self());
		const uint64_t before = s->blocked;
		again = false;
		if (mask)
			s->blocked = *mask & ~SIGNALS_NEVER_BLOCKED;
		result = call(number, arguments);
		s = signal_state_of(thread_self()); /* another in the child of a fork */
		thread_self()->cancel = cancel;
		if (mask || result == -EINTR || signals_came())
			again = deliver(number, arguments, mask ? before : s->blocked, result);
	} while (again);
	calls_leave();
	return result;
}
