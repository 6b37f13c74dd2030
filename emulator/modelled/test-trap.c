/* SPDX-License-Identifier: BSD-2-Clause */
/* The time-stamp counter of a thread that plays a part, and of one that does not. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "test-common.h"
#include "trap.h"

static __thread uint64_t modelled;

static bool counter(uint64_t *value)
{
	*value = modelled;
	return modelled;
}

static uint64_t rdtsc(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}
static uint64_t rdtscp(void)
{
	uint32_t low, high, processor;
	__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor));
	return (uint64_t)high << 32 | low;
}

static void *other(void *data)
{
	uint64_t first = rdtsc();
	EXPECT(first > 1000000, 1); /* the host's, which moves */
	EXPECT(rdtscp() > first, 1);
	modelled = 5;
	EXPECT(rdtsc(), 5);
	return data;
}

/* An instruction other than a read of the counter ends the process, as before. */
static void other_faults(void)
{
	int status;
	pid_t child = fork();
	if (!child) {
		__asm__ volatile("hlt");
		_exit(0);
	}
	EXPECT(waitpid(child, &status, 0), child);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, 1);
}

int main(void)
{
	struct timespec before, after;
	pthread_t thread;
	signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
	EXPECT(trap_counter(counter), 1);
	modelled = 0x123456789abcdef;
	EXPECT(rdtsc(), modelled);
	EXPECT(rdtscp(), modelled);
	modelled = 1;
	/* the kernel's code in user space may read the counter: the host's time stays */
	clock_gettime(CLOCK_REALTIME, &before);
	modelled = 1ull << 62;
	clock_gettime(CLOCK_REALTIME, &after);
	EXPECT(after.tv_sec - before.tv_sec < 600, 1);
	EXPECT(pthread_create(&thread, NULL, other, NULL), 0);
	EXPECT(pthread_join(thread, NULL), 0);
	other_faults();
	return 0;
}
