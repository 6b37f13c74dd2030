/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * POSIX timers. The helper (interrupt.c) sleeps until the first one expires. For SIGEV_THREAD musl has a thread that
 * waits for a signal (SIGEV_THREAD_ID). A timer has one signal pending at most; what expires meanwhile is its overrun.
 * A child of fork() has no timers.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include "platform.h"
#include "signals.h"

long sys_clock_gettime(const long *);
long sys_getuid(const long *);

static const uint64_t SECOND = 1000000000;
/* How often timers by the time that threads run are looked at, in nanoseconds. */
static const uint64_t LEAST_CPU_TIME = 1000000;

static struct timer {
	bool used;
	int notify; /* SIGEV_* */
	int number, tid; /* signal, and to which thread; 0: the process */
	union sigval value;
	clockid_t clock;
	uint64_t next, interval; /* nanoseconds, by its clock; `next` 0: it is not armed */
} timers[TIMERS];

/* Linux's struct sigevent, as musl gives it. */
struct event {
	union sigval value;
	int number, notify, tid;
};

static uint64_t nanoseconds(const struct timespec *t) { return (uint64_t)timespec_nanoseconds(t); }

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / SECOND), (long)(ns % SECOND) };
}

static uint64_t clock_now(clockid_t clock)
{
	struct timespec now = { 0 };

	sys_clock_gettime((const long[]){ clock, (long)&now });
	return nanoseconds(&now);
}

static bool is_cpu_time(clockid_t clock)
{
	return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
}

/* Null: there is no such timer. */
static struct timer *find(long id) { return id >= 0 && id < TIMERS && timers[id].used ? &timers[id] : 0; }

static const struct signal_state *target_of(const struct timer *t)
{
	for (const struct thread *thread = threads; t->tid && thread < threads + thread_places; thread++)
		if (thread->tid == t->tid)
			return signal_state_of(thread);
	return 0;
}

static void expire(struct timer *t, int times)
{
	const int number = (int)(t - timers) + 1;
	const struct signal_state *to = target_of(t);

	if (t->notify == SIGEV_NONE || (t->tid && !to) || signal_overrun(number, times))
		return;
	signal_send(&(struct pending_signal){ .to = to, .number = t->number, .code = SI_TIMER, .timer = number,
	                                      .overrun = times - 1, .value = t->value });
}

/* Sends its signal if it has expired, and returns how long the next one takes at least, in nanoseconds. */
static uint64_t run(struct timer *t)
{
	const uint64_t now = clock_now(t->clock);

	if (now >= t->next) {
		const uint64_t more = t->interval ? (now - t->next) / t->interval : 0;
		t->next = t->interval ? t->next + (more + 1) * t->interval : 0;
		expire(t, more < INT32_MAX ? (int)more + 1 : INT32_MAX);
	}
	if (!t->next)
		return UINT64_MAX;
	const uint64_t left = t->next - now, cores = platform_info()->core_count;
	if (!is_cpu_time(t->clock))
		return left;
	return left / (cores ? cores : 1) > LEAST_CPU_TIME ? left / (cores ? cores : 1) : LEAST_CPU_TIME;
}

static uint64_t timers_run(void)
{
	uint64_t least = UINT64_MAX;

	require(layer_is_locked());
	for (struct timer *t = timers; t < timers + TIMERS; t++) {
		const uint64_t left = t->used && t->next ? run(t) : UINT64_MAX;
		least = left < least ? left : least;
	}
	return least == UINT64_MAX ? 0 : deadline_after(least);
}

void timers_forked(void) { memset(timers, 0, sizeof(timers)); }

long sys_timer_create(const long *a)
{
	const struct event *event = (const struct event *)a[1];
	struct timer *t = timers;
	struct timer made = { .used = true, .notify = SIGEV_SIGNAL, .number = SIGALRM, .clock = (clockid_t)a[0] };
	struct timespec now;

	if (sys_clock_gettime((const long[]){ a[0], (long)&now }) || made.clock == CLOCK_THREAD_CPUTIME_ID)
		return made.clock == CLOCK_THREAD_CPUTIME_ID ? -ENOTSUP : -EINVAL;
	while (t < timers + TIMERS && t->used)
		t++;
	if (t == timers + TIMERS)
		return -EAGAIN;
	made.value.sival_int = (int)(t - timers);
	if (event) {
		made.notify = event->notify;
		made.number = event->number;
		made.value = event->value;
		made.tid = event->notify == SIGEV_THREAD_ID ? event->tid : 0;
	}
	if (made.notify != SIGEV_NONE && made.notify != SIGEV_SIGNAL && made.notify != SIGEV_THREAD_ID)
		return -EINVAL;
	if (made.notify != SIGEV_NONE && (made.number < 1 || made.number > SIGNALS))
		return -EINVAL;
	if (made.notify == SIGEV_THREAD_ID && !target_of(&made))
		return -EINVAL;
	interrupts_timers = timers_run;
	const long error = interrupts_start();
	if (error)
		return error;
	*t = made;
	timer_overruns[t - timers] = 0;
	*(int *)a[2] = (int)(t - timers);
	return 0;
}

static void tell(const struct timer *t, struct itimerspec *out)
{
	const uint64_t now = t->next ? clock_now(t->clock) : 0;

	out->it_interval = timespec_of(t->interval);
	/* of one that is about to expire there is a nanosecond left, or it would not be armed */
	out->it_value = timespec_of(!t->next ? 0 : t->next > now ? t->next - now : 1);
}

long sys_timer_settime(const long *a)
{
	struct timer *t = find(a[0]);
	const struct itimerspec *new = (const struct itimerspec *)a[2];

	if (!t || !new || !timespec_valid(&new->it_value) || !timespec_valid(&new->it_interval))
		return -EINVAL;
	if (a[3])
		tell(t, (struct itimerspec *)a[3]);
	uint64_t next = nanoseconds(&new->it_value);
	if (next && !(a[1] & TIMER_ABSTIME) && __builtin_add_overflow(next, clock_now(t->clock), &next))
		next = INT64_MAX;
	t->next = next;
	t->interval = nanoseconds(&new->it_interval);
	interrupts_look();
	return 0;
}

long sys_timer_gettime(const long *a)
{
	const struct timer *t = find(a[0]);

	if (!t)
		return -EINVAL;
	tell(t, (struct itimerspec *)a[1]);
	return 0;
}

long sys_timer_getoverrun(const long *a) { return find(a[0]) ? timer_overruns[a[0]] : -EINVAL; }

long sys_timer_delete(const long *a)
{
	struct timer *t = find(a[0]);

	if (!t)
		return -EINVAL;
	*t = (struct timer){ 0 };
	return 0;
}
