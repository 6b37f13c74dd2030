/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of one program on several cores (`skerry cc --cores`); on Linux, where it says nothing about places, too. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <skerry/posix.h>
#include <skerry/process.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "posixtest.h"

enum { MOST = 16, ROUNDS = 300 };

static unsigned core_count(void) { return (unsigned)sysconf(_SC_NPROCESSORS_ONLN); }
static unsigned workers(void) { return core_count() < 4 ? 4 : core_count() < MOST ? core_count() : MOST; }
static bool on_linux(void) { return !strcmp(process_info()->name, "host@0"); }

/* The processor that executes this: its local APIC id, by CPUID. */
static unsigned processor(void)
{
	unsigned a, b, c, d;

	__cpuid(1, a, b, c, d);
	return b >> 24;
}

static cpu_set_t only(unsigned core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	return set;
}

static bool run_all(void *(*work)(void *), unsigned count)
{
	pthread_t thread[MOST];
	bool ok = true;

	for (unsigned i = 0; i < count; i++)
		CHECK(pthread_create(&thread[i], 0, work, (void *)(uintptr_t)i) == 0);
	for (unsigned i = 0; i < count; i++) {
		void *result;
		CHECK(pthread_join(thread[i], &result) == 0);
		ok &= result == 0;
	}
	CHECK(ok);
	return true;
}

TEST(cores_are_told, "the number of cores is told")
{
	cpu_set_t set;

	CHECK(core_count() == process_info()->core_count);
	CHECK(sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == (int)core_count());
	CHECK(sched_getcpu() >= 0 && (unsigned)sched_getcpu() < core_count());
	CHECK(syscall(SYS_sched_getaffinity, 0, 0, &set) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_sched_getaffinity, 0, 12, &set) == -1 && errno == EINVAL);
	CHECK(sched_getaffinity(4711, sizeof(set), &set) == -1 && errno == ESRCH);
	return true;
}

TEST(affinity_refused, "an affinity of no core is refused")
{
	cpu_set_t set = only(core_count());

	CHECK(sched_setaffinity(0, sizeof(set), &set) == -1 && errno == EINVAL);
	CPU_SET(0, &set);
	CHECK(sched_setaffinity(4711, sizeof(set), &set) == -1 && errno == ESRCH);
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0 && sched_getcpu() == 0);
	memset(&set, 255, sizeof(set));
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
	CHECK(sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == (int)core_count());
	return true;
}

TEST(affinity_moves, "a thread runs on the core that its affinity says")
{
	unsigned seen[MOST];
	cpu_set_t set;

	for (unsigned core = 0; core < core_count() && core < MOST; core++) {
		set = only(core);
		CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
		CHECK(sched_getcpu() == (int)core);
		seen[core] = processor();
		for (unsigned i = 0; i < core && !on_linux(); i++)
			CHECK(seen[i] != seen[core]);
	}
	memset(&set, 255, sizeof(set));
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
	return true;
}

static _Atomic unsigned where, stop, arrived;

static void *watch(void *argument)
{
	(void)argument;
	while (!atomic_load(&stop))
		atomic_store(&where, processor() + 1);
	return 0;
}

/* It makes no call meanwhile, so its core must be interrupted. */
TEST(affinity_of_another, "a thread that computes is moved to another core")
{
	unsigned seen[MOST];
	pthread_t thread;

	atomic_store(&stop, 0);
	CHECK(pthread_create(&thread, 0, watch, 0) == 0);
	for (unsigned core = 0; core < core_count() && core < MOST && !on_linux(); core++) {
		cpu_set_t set = only(core);
		CHECK(pthread_setaffinity_np(thread, sizeof(set), &set) == 0);
		atomic_store(&where, 0);
		while (!atomic_load(&where))
			sched_yield();
		seen[core] = atomic_load(&where);
		for (unsigned i = 0; i < core; i++)
			CHECK(seen[i] != seen[core]);
	}
	atomic_store(&stop, 1);
	CHECK(pthread_join(thread, 0) == 0);
	return true;
}

static unsigned found[MOST];

static void *stay(void *argument)
{
	const unsigned i = (unsigned)(uintptr_t)argument;

	found[i] = processor();
	atomic_fetch_add(&arrived, 1);
	while (!atomic_load(&stop))
		sched_yield();
	return 0;
}

TEST(placement_spreads, "threads start on all cores")
{
	const unsigned count = core_count() < MOST ? core_count() : MOST;
	pthread_t thread[MOST];
	cpu_set_t set = only(0);

	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
	found[0] = processor();
	memset(&set, 255, sizeof(set));
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
	atomic_store(&stop, 0);
	atomic_store(&arrived, 0);
	for (unsigned i = 1; i < count; i++)
		CHECK(pthread_create(&thread[i], 0, stay, (void *)(uintptr_t)i) == 0);
	while (atomic_load(&arrived) < count - 1)
		sched_yield();
	atomic_store(&stop, 1);
	for (unsigned i = 1; i < count; i++)
		CHECK(pthread_join(thread[i], 0) == 0);
	for (unsigned i = 0; i < count && !on_linux() && process_info()->placement == PROCESS_SPREAD; i++)
		for (unsigned j = 0; j < i; j++)
			CHECK(found[i] != found[j]);
	return true;
}

static void *inherit(void *argument)
{
	cpu_set_t set;

	(void)argument;
	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) != 1)
		return inherit;
	return CPU_ISSET(sched_getcpu(), &set) ? 0 : (void *)inherit;
}

TEST(affinity_is_inherited, "a thread has its creator's affinity")
{
	cpu_set_t set = only(core_count() - 1);

	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
	CHECK(run_all(inherit, 3));
	memset(&set, 255, sizeof(set));
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
	return true;
}

static _Atomic unsigned turn;

/* Neither side enters the kernel: on one core each turn would last a time slice. */
static void *rally(void *argument)
{
	const unsigned me = (unsigned)(uintptr_t)argument;

	for (unsigned i = 0; i < ROUNDS; i++) {
		while (atomic_load(&turn) % 2 != me)
			__builtin_ia32_pause();
		atomic_fetch_add(&turn, 1);
	}
	return 0;
}

TEST(threads_run_together, "two threads run at the same time")
{
	if (core_count() < 2)
		return true;
	atomic_store(&turn, 0);
	const uint64_t start = now_ns();
	CHECK(run_all(rally, 2));
	if (!on_linux())
		CHECK(now_ns() - start < 1000000000); /* 600 turns of 5 ms would be three times as much */
	return true;
}

static int mine, other; /* plain: what orders them is the barrier */
static int seen_by[2];
static _Atomic unsigned round_of[2];

static void *ordered(void *argument)
{
	const unsigned me = (unsigned)(uintptr_t)argument;

	for (unsigned i = 1; i <= ROUNDS; i++) {
		atomic_fetch_add(&round_of[me], 1);
		while (atomic_load(&round_of[!me]) < i)
			__builtin_ia32_pause();
		if (me) {
			*(volatile int *)&other = (int)i;
			membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
			seen_by[1] = *(volatile int *)&mine;
		} else {
			*(volatile int *)&mine = (int)i;
			__asm__ volatile("" : : : "memory");
			seen_by[0] = *(volatile int *)&other;
		}
		atomic_thread_fence(memory_order_seq_cst);
		atomic_fetch_add(&arrived, 1);
		while (atomic_load(&arrived) < 2 * i)
			__builtin_ia32_pause();
		if (seen_by[0] != (int)i && seen_by[1] != (int)i)
			return ordered;
	}
	return 0;
}

TEST(membarrier_orders, "membarrier orders what other cores have stored")
{
	const int offered = membarrier(MEMBARRIER_CMD_QUERY, 0);

	CHECK(offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED && offered & MEMBARRIER_CMD_GLOBAL);
	CHECK(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0);
	CHECK(membarrier(3, 0) == -1 && errno == EINVAL);
	CHECK(membarrier(MEMBARRIER_CMD_GLOBAL, 7) == -1 && errno == EINVAL);
	atomic_store(&arrived, 0);
	atomic_store(&round_of[0], 0);
	atomic_store(&round_of[1], 0);
	return core_count() < 2 || run_all(ordered, 2);
}

/* Each has a pipe of its own: what they share is the layer's lock. */
static void *use_a_pipe(void *argument)
{
	unsigned long sent = (uintptr_t)argument, got;
	int end[2];

	if (pipe(end))
		return use_a_pipe;
	for (unsigned i = 0; i < 5 * ROUNDS; i++) {
		sent = sent * 2862933555777941757u + 3037000493u;
		if (write(end[1], &sent, sizeof(sent)) != sizeof(sent) ||
		    read(end[0], &got, sizeof(got)) != sizeof(got) || got != sent)
			return use_a_pipe;
	}
	return close(end[0]) || close(end[1]) ? (void *)use_a_pipe : 0;
}

TEST(calls_of_all, "all threads make system calls at once") { return run_all(use_a_pipe, workers()); }

static void *nothing(void *argument) { return argument; }

static void *wait_for_ever(void *argument)
{
	while (pause())
		;
	return argument;
}

/* Threads begin and end on all cores, so that places are used again while their last threads are on their way out. */
static void *create_and_end(void *argument)
{
	for (unsigned i = 0; i < ROUNDS / 6; i++) {
		pthread_t joined, cancelled;
		void *result;
		if (pthread_create(&joined, 0, nothing, argument) || pthread_create(&cancelled, 0, wait_for_ever, 0))
			return create_and_end;
		if (pthread_cancel(cancelled) || pthread_join(cancelled, &result) || result != PTHREAD_CANCELED)
			return create_and_end;
		if (pthread_join(joined, &result) || result != argument)
			return create_and_end;
		pthread_attr_t detached;
		pthread_t thread;
		pthread_attr_init(&detached);
		pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
		const int error = pthread_create(&thread, &detached, nothing, 0);
		if (error && error != EAGAIN) /* those that are detached may take all places for a while */
			return create_and_end;
	}
	return 0;
}

TEST(threads_of_threads, "threads are created, joined, detached and cancelled on all cores")
{
	return run_all(create_and_end, workers());
}

/* A thread's stack is the joiner's again when pthread_join() returns: the thread has left it. */
static void *lend_a_stack(void *argument)
{
	enum { SIZE = 32 << 10 };
	static _Alignas(4096) unsigned char stacks[MOST][SIZE];
	unsigned char *stack = stacks[(uintptr_t)argument];
	pthread_attr_t own;

	if (pthread_attr_init(&own) || pthread_attr_setstack(&own, stack, SIZE))
		return lend_a_stack;
	for (unsigned i = 0; i < ROUNDS / 3; i++) {
		pthread_t thread;
		void *result;
		if (pthread_create(&thread, &own, nothing, argument) || pthread_join(thread, &result) ||
		    result != argument)
			return lend_a_stack;
		memset(stack, 0xff, SIZE);
	}
	return 0;
}

TEST(lent_stacks, "a joined thread has left its stack") { return run_all(lend_a_stack, workers()); }

/* The word of each thread: it waits there until the thread before it has written the round. */
static uint32_t cell[MOST];

static void *wake_the_next(void *argument)
{
	const unsigned me = (unsigned)(uintptr_t)argument, next = (me + 1) % workers();

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		__atomic_store_n(&cell[next], i, __ATOMIC_RELEASE);
		syscall(SYS_futex, &cell[next], 1 /* FUTEX_WAKE */, 1);
		for (uint32_t old; (old = __atomic_load_n(&cell[me], __ATOMIC_ACQUIRE)) < i;)
			syscall(SYS_futex, &cell[me], 0 /* FUTEX_WAIT */, old, 0);
	}
	return 0;
}

TEST(futexes_in_a_ring, "threads wake each other in a ring, each by a word of its own")
{
	memset(cell, 0, sizeof(cell));
	return run_all(wake_the_next, workers());
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned generation, here;

/* pthread_cond_broadcast() moves the waiters to the mutex; some of them give up instead. */
static void *meet(void *argument)
{
	const bool impatient = (uintptr_t)argument % 2;

	for (unsigned i = 0; i < ROUNDS / 3; i++) {
		pthread_mutex_lock(&mutex);
		const unsigned mine_now = generation;
		if (++here == workers()) {
			here = 0;
			generation++;
			pthread_cond_broadcast(&changed);
		}
		while (generation == mine_now) {
			struct timespec soon;
			clock_gettime(CLOCK_REALTIME, &soon);
			soon.tv_nsec += 20000;
			if (soon.tv_nsec >= 1000000000)
				soon.tv_sec++, soon.tv_nsec -= 1000000000;
			const int error = impatient ? pthread_cond_timedwait(&changed, &mutex, &soon)
			                            : pthread_cond_wait(&changed, &mutex);
			if (error && error != ETIMEDOUT)
				return meet;
		}
		pthread_mutex_unlock(&mutex);
	}
	return 0;
}

TEST(condition_of_all, "a condition variable wakes all threads, some of which give up meanwhile")
{
	return run_all(meet, workers());
}

enum { SLOTS = 64 };
static _Atomic(unsigned char *) slot[SLOTS];

/* Takes what another thread has allocated, and leaves a block of its own. */
static void *pass_on(void *argument)
{
	unsigned random = (unsigned)(uintptr_t)argument * 2654435761u + 1;

	for (unsigned i = 0; i < 10 * ROUNDS; i++) {
		random = random * 1664525u + 1013904223u;
		const size_t size = 1 + (random >> 8) % 2000;
		unsigned char *block = malloc(size + 2);
		if (!block)
			return pass_on;
		memset(block, (int)(size & 255), size + 2);
		memcpy(block, &(unsigned short){ (unsigned short)size }, 2);
		block = atomic_exchange(&slot[(random >> 20) % SLOTS], block);
		if (!block)
			continue;
		unsigned short old;
		memcpy(&old, block, 2);
		if (block[2] != (old & 255) || block[old + 1] != (old & 255))
			return pass_on;
		free(block);
	}
	return 0;
}

TEST(memory_of_all, "memory is allocated by one thread and freed by another")
{
	const bool ok = run_all(pass_on, workers());

	for (unsigned i = 0; i < SLOTS; i++)
		free(atomic_exchange(&slot[i], 0));
	return ok;
}

/* Guard pages come and go while another thread has the layer look at all pages. */
static void *protect(void *argument)
{
	const size_t size = 16 * 4096;

	if (!argument) {
		char text[512];
		for (unsigned i = 0; i < ROUNDS / 3; i++) {
			const int fd = open("/proc/self/stat", O_RDONLY);
			if (fd < 0 || read(fd, text, sizeof(text)) <= 0 || close(fd))
				return protect;
		}
		return 0;
	}
	for (unsigned i = 0; i < ROUNDS / 15; i++) {
		char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return protect;
		memset(p + size / 2, 1, size / 2);
		if (mprotect(p, size / 2, PROT_NONE) || mprotect(p, size / 2, PROT_READ | PROT_WRITE) || p[0] ||
		    p[size - 1] != 1 || munmap(p, size))
			return protect;
	}
	return 0;
}

TEST(protection_of_all, "pages are protected while another thread looks at them") { return run_all(protect, 3); }

static pthread_barrier_t barrier;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static unsigned long sum[MOST], total;

/* Fork-join: each adds up its part, one of them all parts. */
static void *add(void *argument)
{
	const unsigned me = (unsigned)(uintptr_t)argument, count = workers();

	for (unsigned i = 1; i <= ROUNDS / 3; i++) {
		sum[me] += i + me;
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
			pthread_rwlock_wrlock(&shared);
			total = 0;
			for (unsigned t = 0; t < count; t++)
				total += sum[t];
			pthread_rwlock_unlock(&shared);
		}
		pthread_barrier_wait(&barrier);
		pthread_rwlock_rdlock(&shared);
		const unsigned long seen = total;
		pthread_rwlock_unlock(&shared);
		if (seen != count * (unsigned long)i * (i + 1) / 2 + (unsigned long)count * (count - 1) / 2 * i)
			return add;
		pthread_barrier_wait(&barrier);
	}
	return 0;
}

TEST(fork_join, "threads meet at barriers")
{
	CHECK(pthread_barrier_init(&barrier, 0, workers()) == 0);
	memset(sum, 0, sizeof(sum));
	const bool ok = run_all(add, workers());
	CHECK(pthread_barrier_destroy(&barrier) == 0);
	return ok;
}
