/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time, all of it from the time-stamp counter. Factors are fixed-point numbers
 * with 128-bit products, so that no clock ever runs over or backwards.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <skerry/process.h>
#include <skerry/tsc.h>
#include "layer.h"
#include "platform.h"

enum { SHIFT = 32 };
static const uint64_t SECOND = 1000000000;

static struct {
	uint64_t scale;  /* nanoseconds = cycles * scale >> SHIFT */
	uint64_t offset; /* what the real-time clock is ahead of the monotonic one, in nanoseconds; modulo 2^64 */
} factor;

static uint64_t nanoseconds_of(uint64_t cycles)
{
	require(factor.scale);
	return (uint64_t)((unsigned __int128)cycles * factor.scale >> SHIFT);
}

void clock_start(void)
{
	const struct process_info *info = platform_info();

	factor.scale = ((unsigned __int128)SECOND << SHIFT) / clock_cycles_per_second();
	factor.offset = info->epoch * SECOND - nanoseconds_of(info->epoch_tsc);
}

uint64_t clock_cycles(void) { return read_tsc(); }

uint64_t clock_cycles_per_second(void) { return platform_info()->tsc_hz; }
uint64_t clock_nanoseconds(void) { return nanoseconds_of(clock_cycles()); }
uint64_t clock_milliseconds(void) { return clock_nanoseconds() / 1000000; }

int64_t clock_realtime_offset(void) { return (int64_t)factor.offset; }

bool timespec_valid(const struct timespec *t)
{
	return t->tv_sec >= 0 && t->tv_nsec >= 0 && (uint64_t)t->tv_nsec < SECOND;
}

int64_t timespec_nanoseconds(const struct timespec *t)
{
	const int64_t second = (int64_t)SECOND;

	return t->tv_sec < INT64_MAX / second ? t->tv_sec * second + t->tv_nsec : INT64_MAX;
}

uint64_t deadline_after(uint64_t nanoseconds)
{
	unsigned __int128 cycles = (unsigned __int128)nanoseconds * clock_cycles_per_second() / SECOND + 1;
	unsigned __int128 deadline = clock_cycles() + cycles;

	require(deadline > 0);
	return deadline > INT64_MAX ? INT64_MAX : (uint64_t)deadline;
}

uint64_t deadline_after_milliseconds(uint64_t milliseconds)
{
	enum { EXACT_BELOW = 16 };
	const uint64_t deadline = deadline_after(milliseconds * 1000000), grain = clock_cycles_per_second() / 2000;

	return milliseconds < EXACT_BELOW ? deadline : (deadline / grain + 1) * grain;
}

uint64_t deadline_after_timespec(const struct timespec *t)
{
	const int64_t century = 100ll * 366 * 86400;

	if (!t)
		return 0;
	return deadline_after((uint64_t)(t->tv_sec < century ? t->tv_sec : century) * SECOND + (uint64_t)t->tv_nsec);
}

static int read_clock(clockid_t clock, uint64_t *ns)
{
	uint64_t cycles = 0;

	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		*ns = clock_nanoseconds() + factor.offset;
		return 0;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*ns = clock_nanoseconds();
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		for (unsigned i = 0; i < thread_places; i++)
			if (threads[i].tid)
				cycles += platform_thread_time(i);
		*ns = nanoseconds_of(cycles);
		return 0;
	case CLOCK_THREAD_CPUTIME_ID:
		*ns = nanoseconds_of(platform_thread_time(thread_self()->index));
		return 0;
	default:
		return -EINVAL;
	}
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };
}

/* The second of the last answer nearly always is that of the next one. */
static struct timeval to_timeval(uint64_t ns)
{
	static _Atomic uint64_t last;
	uint64_t second = atomic_load_explicit(&last, memory_order_relaxed);

	if (__builtin_expect(ns - second * SECOND >= SECOND, 0)) {
		second = ns / SECOND;
		atomic_store_explicit(&last, second, memory_order_relaxed);
	}
	require(ns - second * SECOND < SECOND);
	const uint32_t rest = (uint32_t)(ns - second * SECOND);

	return (struct timeval){ .tv_sec = (time_t)second, .tv_usec = (long)(rest / 1000) };
}

long sys_clock_gettime(const long *a)
{
	uint64_t ns;
	int error = read_clock((clockid_t)a[0], &ns);

	if (!error)
		*(struct timespec *)a[1] = to_timespec(ns);
	return error;
}

/* In place of musl's: servers ask for the time several times for each request. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (__builtin_expect(clock == CLOCK_MONOTONIC, 1)) {
		*t = to_timespec(clock_nanoseconds());
		return 0;
	}
	long error = sys_clock_gettime((const long[]){ clock, (long)t });
	if (!error)
		return 0;
	errno = (int)-error;
	return -1;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	(void)zone;
	if (t)
		*t = to_timeval(clock_nanoseconds() + factor.offset);
	return 0;
}

long sys_clock_getres(const long *a)
{
	uint64_t ns;
	int error = read_clock((clockid_t)a[0], &ns);

	if (!error && a[1])
		*(struct timespec *)a[1] = (struct timespec){ .tv_nsec = 1 };
	return error;
}

long sys_gettimeofday(const long *a) { return gettimeofday((struct timeval *)a[0], (void *)a[1]); }

long sys_time(const long *a)
{
	time_t now = (time_t)((clock_nanoseconds() + factor.offset) / SECOND);

	if (a[0])
		*(time_t *)a[0] = now;
	return now;
}

long sys_getrusage(const long *a)
{
	struct rusage *usage = (struct rusage *)a[1];
	uint64_t ns = 0;

	memset(usage, 0, offsetof(struct rusage, __reserved));
	if (a[0] != RUSAGE_CHILDREN)
		read_clock(a[0] == RUSAGE_SELF ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &ns);
	usage->ru_utime = to_timeval(ns);
	return 0;
}

long sys_times(const long *a)
{
	struct tms *times = (struct tms *)a[0];
	uint64_t ns = 0;

	read_clock(CLOCK_PROCESS_CPUTIME_ID, &ns);
	if (times)
		*times = (struct tms){ .tms_utime = (clock_t)(ns / 10000000) };
	return (long)(clock_nanoseconds() / 10000000); /* 100 ticks a second */
}

static long sleep_until(uint64_t deadline)
{
	int error;

	while (!(error = event_sleep(deadline))) {
	}
	return error == -EINTR ? -EINTR : 0;
}

/* *left: what is left of it where a signal ends it; may be null. */
static long sleep_for(uint64_t deadline, struct timespec *left)
{
	const long error = sleep_until(deadline);
	const uint64_t now = clock_cycles();

	if (error && left) {
		const uint64_t ns = deadline > now ? nanoseconds_of(deadline - now) : 0;
		*left = (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	}
	return error;
}

long sys_nanosleep(const long *a)
{
	const struct timespec *t = (const struct timespec *)a[0];

	if (!timespec_valid(t))
		return -EINVAL;
	return sleep_for(deadline_after_timespec(t), (struct timespec *)a[1]);
}

long sys_clock_nanosleep(const long *a)
{
	enum { TIMER_ABSOLUTE = 1 };
	const struct timespec *t = (const struct timespec *)a[2];
	uint64_t now;
	int error = read_clock((clockid_t)a[0], &now);

	if (error || !timespec_valid(t))
		return -EINVAL;
	if (!(a[1] & TIMER_ABSOLUTE))
		return sleep_for(deadline_after_timespec(t), (struct timespec *)a[3]);
	uint64_t target = (uint64_t)timespec_nanoseconds(t);
	return target > now ? sleep_until(deadline_after(target - now)) : 0;
}
