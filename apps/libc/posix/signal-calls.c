/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls about signals that do not send one. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include "family.h"
#include "platform.h"
#include "signals.h"

enum { ALTERNATE_MIN = 2048, ALTERNATE_FLAGS = SS_ONSTACK | SS_DISABLE };

long sys_rt_sigaction(const long *a)
{
	const struct signal_action *new = (const struct signal_action *)a[1];
	struct signal_action *old = (struct signal_action *)a[2];

	if (a[3] != SIGNAL_MASK_BYTES || a[0] < 1 || a[0] > SIGNALS || (new && (a[0] == SIGKILL || a[0] == SIGSTOP)))
		return -EINVAL;
	layer_lock();
	const struct signal_action before = signal_actions[a[0]];
	if (new) {
		signal_actions[a[0]] = *new;
		if (signal_is_ignored((int)a[0]))
			signal_drop((int)a[0]);
	}
	if (old)
		*old = before;
#ifdef LAYER_FAMILY
	if (new && a[0] == SIGCHLD)
		family_signals_changed();
#endif
	layer_unlock();
	return 0;
}

long sys_rt_sigprocmask(const long *a)
{
	const uint64_t *set = (const uint64_t *)a[1];

	if (a[3] != SIGNAL_MASK_BYTES || (set && a[0] != SIG_BLOCK && a[0] != SIG_UNBLOCK && a[0] != SIG_SETMASK))
		return -EINVAL;
	layer_lock();
	struct signal_state *s = signal_state_of(thread_self());
	const uint64_t before = s->blocked;
	if (set)
		s->blocked = (a[0] == SIG_BLOCK ? before | *set : a[0] == SIG_UNBLOCK ? before & ~*set
		              : *set) & ~SIGNALS_NEVER_BLOCKED;
	if (a[2])
		*(uint64_t *)a[2] = before;
	return signal_leave(0);
}

long sys_rt_sigpending(const long *a)
{
	if ((size_t)a[1] > SIGNAL_MASK_BYTES)
		return -EINVAL;
	layer_lock();
	const struct signal_state *s = signal_state_of(thread_self());
	const uint64_t set = signal_pending(s) & s->blocked;
	layer_unlock();
	memcpy((void *)a[0], &set, (size_t)a[1]);
	return 0;
}

long sys_sigaltstack(const long *a)
{
	const stack_t *new = (const stack_t *)a[0];
	struct signal_state *s = signal_state_of(thread_self());
	const bool on_it = signal_is_on_alternate(s, (uintptr_t)__builtin_frame_address(0));
	const stack_t before = { .ss_sp = (void *)s->alternate, .ss_size = s->alternate_size,
	                         .ss_flags = on_it ? SS_ONSTACK : s->alternate_size ? 0 : SS_DISABLE };

	if (new) {
		if (on_it)
			return -EPERM;
		if (new->ss_flags & ~ALTERNATE_FLAGS || new->ss_flags == ALTERNATE_FLAGS)
			return -EINVAL;
		if (!(new->ss_flags & SS_DISABLE) && new->ss_size < ALTERNATE_MIN)
			return -ENOMEM;
		s->alternate = new->ss_flags & SS_DISABLE ? 0 : (uintptr_t)new->ss_sp;
		s->alternate_size = new->ss_flags & SS_DISABLE ? 0 : new->ss_size;
	}
	if (a[1])
		*(stack_t *)a[1] = before;
	return 0;
}

/* --- waiting --- */

static int wait_for_signal(struct signal_state *s, uint64_t deadline)
{
	require(!s->waits);
	s->waits = true;
	const int error = event_sleep(deadline);
	s->waits = false;
	return error;
}

/* Until a handler has run that this mask lets through, or the thread is cancelled. */
static long signal_suspend(const uint64_t *mask)
{
	int error = 0;

	layer_lock();
	struct thread *self = thread_self();
	struct signal_state *s = signal_state_of(self);
	const uint64_t before = s->blocked;
	if (mask)
		s->blocked = *mask & ~SIGNALS_NEVER_BLOCKED;
	while (!signal_deliver(self, before) && !error)
		error = wait_for_signal(s, 0);
	if (error)
		s->blocked = before;
	return signal_leave(-EINTR);
}

long sys_rt_sigsuspend(const long *a)
{
	return a[1] == SIGNAL_MASK_BYTES ? signal_suspend((const uint64_t *)a[0]) : -EINVAL;
}
long sys_pause(const long *a) { (void)a; return signal_suspend(0); }

long sys_rt_sigtimedwait(const long *a)
{
	const struct timespec *timeout = (const struct timespec *)a[2];
	struct pending_signal p;
	int error = 0;

	if (a[3] != SIGNAL_MASK_BYTES || (timeout && !timespec_valid(timeout)))
		return -EINVAL;
	const uint64_t set = *(const uint64_t *)a[0] & ~SIGNALS_NEVER_BLOCKED,
	               deadline = deadline_after_timespec(timeout);
	layer_lock();
	struct signal_state *s = signal_state_of(thread_self());
	bool taken;
	while (!(taken = signal_take(s, set, &p)) && !error)
		error = signal_is_due(s) ? -EINTR : wait_for_signal(s, deadline);
	if (taken && a[1])
		signal_fill((siginfo_t *)a[1], &p);
	return signal_leave(taken ? p.number : error);
}

/* --- timers: those of real time, which the manager keeps for programs that may be several processes --- */

#ifdef LAYER_FAMILY
static uint64_t cycles_of(const struct timeval *t)
{
	const unsigned __int128 us = (unsigned __int128)t->tv_sec * 1000000 + (unsigned __int128)t->tv_usec;
	const unsigned __int128 cycles = (us * clock_cycles_per_second() + 999999) / 1000000;

	return cycles > INT64_MAX / 2 ? INT64_MAX / 2 : (uint64_t)cycles;
}

static struct timeval timeval_of(uint64_t cycles)
{
	uint64_t us = (uint64_t)((unsigned __int128)cycles * 1000000 / clock_cycles_per_second());

	us += !us && cycles; /* 0 says that there is none */
	return (struct timeval){ (time_t)(us / 1000000), (long)(us % 1000000) };
}

static bool timeval_valid(const struct timeval *t)
{
	return t->tv_sec >= 0 && t->tv_usec >= 0 && t->tv_usec < 1000000;
}

/* setitimer() of ITIMER_REAL. */
static long alarm_set(const struct itimerval *new, struct itimerval *old)
{
	const uint64_t first = cycles_of(&new->it_value);
	uint64_t left, each;

	layer_lock();
	family_signals_start();
	layer_unlock();
	const int error = platform_alarm(first ? clock_cycles() + first : 0, first ? cycles_of(&new->it_interval) : 0,
	                                 &left, &each);
	if (!error && old)
		*old = (struct itimerval){ .it_value = timeval_of(left), .it_interval = timeval_of(left ? each : 0) };
	return error ? call_not_provided(SYS_setitimer) : 0;
}
#endif

long sys_setitimer(const long *a)
{
	const struct itimerval *new = (const struct itimerval *)a[1];

	if (a[0] < ITIMER_REAL || a[0] > ITIMER_PROF)
		return -EINVAL;
#ifdef LAYER_FAMILY
	static const struct itimerval none;

	if (new && (!timeval_valid(&new->it_value) || !timeval_valid(&new->it_interval)))
		return -EINVAL;
	if (a[0] == ITIMER_REAL)
		return alarm_set(new ? new : &none, (struct itimerval *)a[2]);
#endif
	if (new && (new->it_value.tv_sec || new->it_value.tv_usec))
		return call_not_provided(SYS_setitimer);
	if (a[2])
		memset((void *)a[2], 0, sizeof(struct itimerval));
	return 0;
}

long sys_getitimer(const long *a)
{
	struct itimerval *timer = (struct itimerval *)a[1];

	if (a[0] < ITIMER_REAL || a[0] > ITIMER_PROF)
		return -EINVAL;
#ifdef LAYER_FAMILY
	/* the manager tells what is left where it sets one: the same is set again */
	if (a[0] == ITIMER_REAL) {
		const long error = alarm_set(&(struct itimerval){ .it_value.tv_sec = 0 }, timer);

		return error || (!timer->it_value.tv_sec && !timer->it_value.tv_usec) ? error : alarm_set(timer, 0);
	}
#endif
	memset(timer, 0, sizeof(*timer));
	return 0;
}

long sys_alarm(const long *a)
{
#ifdef LAYER_FAMILY
	const struct itimerval new = { .it_value.tv_sec = (unsigned)a[0] };
	struct itimerval old;
	const long error = alarm_set(&new, &old);

	/* as on Linux whole seconds, rounded, and 1 at least where there was one */
	return error ? error : old.it_value.tv_sec + (old.it_value.tv_usec >= 500000 ||
	                                              (!old.it_value.tv_sec && old.it_value.tv_usec));
#else
	return a[0] ? call_not_provided(SYS_alarm) : 0;
#endif
}
