/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "posixtest.h"

TEST(monotonic_never_goes_back, "the monotonic clock never goes back")
{
	uint64_t last = now_ns(), first = last;

	for (int i = 0; i < 200000; i++) {
		uint64_t now = now_ns();
		CHECK(now >= last);
		last = now;
	}
	CHECK(last > first);
	return true;
}

TEST(sleep_lasts, "sleep lasts as long as asked")
{
	for (int ms = 1; ms <= 32; ms *= 2) {
		uint64_t took;
		int tries = 20; /* a host that is busy may stop it for seconds, not always */
		do {
			uint64_t start = now_ns();
			CHECK(nanosleep(&(struct timespec){ 0, ms * 1000000 }, 0) == 0);
			took = now_ns() - start;
			CHECK(took >= (uint64_t)ms * 1000000);
		} while (took >= (uint64_t)ms * 1000000 + 2000000000 && --tries);
		CHECK(tries); /* woken by its deadline, not by luck */
	}
	CHECK(nanosleep(&(struct timespec){ 0, 1000000000 }, 0) == -1 && errno == EINVAL);
	return true;
}

/* Moments that no number of nanoseconds in 64 bits has. */
static void *sleep_for_ever(void *argument)
{
	static const int clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME };
	static const time_t seconds[] = { INT64_MAX, INT64_MAX / 1000000000 + 1, 36893488147 /* 2^65 / 10^9 */ };
	const unsigned i = (unsigned)(uintptr_t)argument;

	clock_nanosleep(clocks[i % 2], TIMER_ABSTIME, &(struct timespec){ seconds[i / 2], 999999999 }, 0);
	return 0;
}

TEST(far_moments, "a sleep until a moment that is too far away does not end")
{
	for (uintptr_t i = 0; i < 6; i++) {
		pthread_t thread;
		void *result;
		CHECK(!pthread_create(&thread, 0, sleep_for_ever, (void *)i));
		nanosleep(&(struct timespec){ 0, 5000000 }, 0);
		CHECK(!pthread_cancel(thread) && !pthread_join(thread, &result) && result == PTHREAD_CANCELED);
	}
	return true;
}

static uint32_t futex_word;

static void *wait_for_ever(void *argument)
{
	enum { WAIT_BITSET = 9, REALTIME = 256 };

	return (void *)syscall(SYS_futex, &futex_word, WAIT_BITSET | (argument ? REALTIME : 0), 0,
	                       &(struct timespec){ INT64_MAX, 0 }, 0, -1);
}

TEST(far_timeouts, "a futex with a moment that is too far away is waited for")
{
	for (uintptr_t i = 0; i < 2; i++) {
		pthread_t thread;
		void *result;
		futex_word = 0;
		CHECK(!pthread_create(&thread, 0, wait_for_ever, (void *)i));
		nanosleep(&(struct timespec){ 0, 5000000 }, 0);
		CHECK(syscall(SYS_futex, &futex_word, 1 /* FUTEX_WAKE */, 1) == 1);
		CHECK(!pthread_join(thread, &result) && !result);
	}
	return true;
}

TEST(clocks_agree, "clocks agree")
{
	struct timespec before, after;
	struct timeval day;

	clock_gettime(CLOCK_REALTIME, &before);
	gettimeofday(&day, 0);
	const time_t seconds = time(0);
	clock_gettime(CLOCK_REALTIME, &after);
	const int64_t between = day.tv_sec * 1000000ll + day.tv_usec;
	CHECK(before.tv_sec * 1000000ll + before.tv_nsec / 1000 <= between &&
	      between <= after.tv_sec * 1000000ll + after.tv_nsec / 1000);
	CHECK(day.tv_sec <= seconds && seconds <= after.tv_sec);
	return true;
}

TEST(processor_time_grows, "processor time grows")
{
	struct rusage usage;
	struct timespec before, after;

	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before) == 0);
	for (volatile int i = 0; i < 3000000; i++) {
	}
	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after) == 0);
	CHECK(after.tv_sec > before.tv_sec || after.tv_nsec > before.tv_nsec);
	CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
	return true;
}

TEST(unknown_calls_are_refused, "unknown calls are refused")
{
	CHECK(syscall(SYS_ptrace, 0, 0, 0, 0) == -1 && errno == ENOSYS);
	CHECK(fork() == -1);
	return true;
}
