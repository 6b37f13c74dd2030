/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "posixtest.h"

static bool monotonic_never_goes_back(void)
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

static bool sleep_lasts(void)
{
	for (int ms = 1; ms <= 32; ms *= 2) {
		uint64_t start = now_ns();
		CHECK(nanosleep(&(struct timespec){ 0, ms * 1000000 }, 0) == 0);
		uint64_t took = now_ns() - start;
		CHECK(took >= (uint64_t)ms * 1000000);
		CHECK(took < (uint64_t)ms * 1000000 + 2000000000); /* woken by its deadline, not by luck */
	}
	CHECK(nanosleep(&(struct timespec){ 0, 1000000000 }, 0) == -1 && errno == EINVAL);
	return true;
}

static bool clocks_agree(void)
{
	struct timespec real;
	struct timeval day;

	clock_gettime(CLOCK_REALTIME, &real);
	gettimeofday(&day, 0);
	int64_t difference = (day.tv_sec - real.tv_sec) * 1000000 + day.tv_usec - real.tv_nsec / 1000;
	CHECK(difference >= 0 && difference < 1000000);
	CHECK(time(0) - day.tv_sec <= 1);
	return true;
}

static bool processor_time_grows(void)
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

static bool unknown_calls_are_refused(void)
{
	CHECK(syscall(SYS_ptrace, 0, 0, 0, 0) == -1 && errno == ENOSYS);
	CHECK(fork() == -1);
	return true;
}

const struct test clock_tests[] = {
	{ "the monotonic clock never goes back", monotonic_never_goes_back },
	{ "sleep lasts as long as asked", sleep_lasts },
	{ "clocks agree", clocks_agree },
	{ "processor time grows", processor_time_grows },
	{ "unknown calls are refused", unknown_calls_are_refused },
	{ 0 },
};
