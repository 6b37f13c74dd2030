/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <skerry/process.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "posixtest.h"

enum { WORKERS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long counter;
static __thread int own = 7;

static bool start_and_join(void *(*work)(void *), unsigned rounds)
{
	pthread_t worker[WORKERS];

	for (unsigned r = 0; r < rounds; r++) {
		for (long i = 0; i < WORKERS; i++) {
			int error;
			while ((error = pthread_create(&worker[i], 0, work, (void *)i)) == EAGAIN)
				sched_yield(); /* a detached thread of an earlier test has not ended yet */
			CHECK(error == 0);
		}
		for (long i = 0; i < WORKERS; i++) {
			void *result;
			CHECK(pthread_join(worker[i], &result) == 0);
			CHECK(result == (void *)(i + 1));
		}
	}
	return true;
}

static void *return_index(void *argument)
{
	own += (int)(long)argument; /* each thread has its own */
	return (void *)((long)argument + 1 + (own - 7 - (long)argument));
}

TEST(create_and_join, "threads are created and joined")
{
	bool ok = start_and_join(return_index, 200);

	CHECK(own == 7);
	return ok;
}

static void *count_locked(void *argument)
{
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&mutex);
		unsigned long seen = counter;
		if (i % 500 == 0)
			sched_yield(); /* while holding it, so that others have to wait */
		counter = seen + 1;
		pthread_mutex_unlock(&mutex);
	}
	return (void *)((long)argument + 1);
}

TEST(mutex_excludes, "a mutex excludes")
{
	counter = 0;
	CHECK(start_and_join(count_locked, 1));
	CHECK(counter == WORKERS * 20000);
	return true;
}

/* A baton goes round: worker i adds to the counter when counter % WORKERS == i. */
static void *pass_baton(void *argument)
{
	unsigned long me = (unsigned long)argument;

	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		while (counter % WORKERS != me)
			pthread_cond_wait(&changed, &mutex);
		counter++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return (void *)(me + 1);
}

TEST(condition_variables, "condition variables")
{
	counter = 0;
	CHECK(start_and_join(pass_baton, 1));
	CHECK(counter == WORKERS * 1000);
	return true;
}

TEST(condition_timeout, "a condition variable times out")
{
	struct timespec until;

	uint64_t start = now_ns(); /* first: what passes between the two clocks must not count against the wait */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 30000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&mutex);
	int error = pthread_cond_timedwait(&changed, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	CHECK(error == ETIMEDOUT);
	CHECK(now_ns() - start >= 29000000);
	return true;
}

static sem_t ping, pong;

static void *answer_pings(void *argument)
{
	for (int i = 0; i < 2000; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return argument;
}

TEST(semaphores_alternate, "semaphores alternate")
{
	pthread_t worker;

	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	CHECK(pthread_create(&worker, 0, answer_pings, 0) == 0);
	for (int i = 0; i < 2000; i++) {
		sem_post(&ping);
		sem_wait(&pong);
	}
	CHECK(pthread_join(worker, 0) == 0);
	return true;
}

static void *end_detached(void *argument)
{
	sem_post(&ping);
	return argument;
}

TEST(detached_threads_free_themselves, "detached threads free themselves")
{
	pthread_attr_t attributes;
	pthread_t worker;

	sem_init(&ping, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 4 << 20);
	for (int i = 0; i < 300; i++) { /* more stacks than the heap could hold at once */
		int error;
		while ((error = pthread_create(&worker, &attributes, end_detached, 0)) == EAGAIN)
			sched_yield(); /* the last ones have not ended yet */
		CHECK(error == 0);
		sem_wait(&ping);
	}
	pthread_attr_destroy(&attributes);
	return true;
}

static void *allocate_much(void *argument)
{
	for (int i = 0; i < 3000; i++) {
		char *p = malloc((size_t)(i * 37 % 9000 + 1));
		if (!p)
			return 0;
		*p = (char)i;
		if (i % 100 == 0)
			sched_yield();
		free(p);
	}
	return (void *)((long)argument + 1);
}

TEST(malloc_in_threads, "malloc in threads") { return start_and_join(allocate_much, 2); }

static pthread_key_t key;
static int destroyed;
static void note_destroyed(void *value) { destroyed += (int)(long)value; }

static void *set_key(void *argument)
{
	pthread_setspecific(key, (void *)1);
	return (void *)((long)argument + 1);
}

TEST(thread_specific_data, "thread-specific data")
{
	CHECK(pthread_key_create(&key, note_destroyed) == 0);
	CHECK(start_and_join(set_key, 1));
	CHECK(destroyed == WORKERS);
	return true;
}

enum { MANY = 63 /* beside the first thread */ };
static pthread_barrier_t all_there;

static void *meet(void *argument)
{
	own += (int)(long)argument;
	pthread_barrier_wait(&all_there); /* each waits on a notification of its own */
	return (void *)(long)own;
}

TEST(many_threads_at_once, "64 threads at once")
{
	pthread_t thread[MANY], beyond;

	for (int round = 0; round < 3; round++) {
		CHECK(pthread_barrier_init(&all_there, 0, MANY + 1) == 0);
		for (long i = 0; i < MANY; i++) {
			int error;
			while ((error = pthread_create(&thread[i], 0, meet, (void *)i)) == EAGAIN && i < 4)
				sched_yield(); /* a detached thread of an earlier test has not ended yet */
			CHECK(error == 0);
		}
		CHECK(pthread_create(&beyond, 0, meet, 0) == EAGAIN);
		pthread_barrier_wait(&all_there);
		for (long i = 0; i < MANY; i++) {
			void *result;
			CHECK(pthread_join(thread[i], &result) == 0 && result == (void *)(7 + i));
		}
		pthread_barrier_destroy(&all_there);
	}
	return true;
}

/* musl measures the first thread's by what mremap() answers. */
TEST(size_of_stacks, "stacks have their size")
{
	const uintptr_t lowest = PROCESS_STACK_TOP - PROCESS_STACK_SIZE;
	uintptr_t here = (uintptr_t)&lowest;
	pthread_attr_t attributes;
	void *low;
	size_t size;

	CHECK(mremap((void *)(PROCESS_STACK_TOP - 8192), 4096, 8192, 0) == MAP_FAILED && errno == ENOMEM);
	CHECK(mremap((void *)lowest, 4096, 8192, 0) == MAP_FAILED && errno == ENOMEM);
	CHECK(mremap((void *)(lowest - 4096), 4096, 8192, 0) == MAP_FAILED && errno == EFAULT);
	CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0 &&
	      pthread_attr_getstack(&attributes, &low, &size) == 0);
	if (here - lowest < PROCESS_STACK_SIZE) /* a test's host has it elsewhere */
		CHECK((uintptr_t)low == lowest && here - lowest < size && size <= PROCESS_STACK_SIZE);
	return true;
}

static pthread_mutex_t robust;

static void *dies_with_it(void *unused)
{
	return pthread_mutex_lock(&robust) ? unused : &robust;
}

/* As LMDB has them: shared between processes, though there is one. */
TEST(robust_mutexes, "robust mutexes")
{
	pthread_mutexattr_t attributes;
	pthread_t thread;
	void *result, *head = 0;
	size_t size = 0;

	CHECK(syscall(SYS_get_robust_list, 0, &head, &size) == 0 && size == 24);
	CHECK(syscall(SYS_get_robust_list, 999999, &head, &size) == -1 && errno == ESRCH &&
	      syscall(SYS_set_robust_list, &head, 8) == -1 && errno == EINVAL);
	CHECK(pthread_mutexattr_init(&attributes) == 0 &&
	      pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
	CHECK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
	      pthread_mutex_init(&robust, &attributes) == 0);
	CHECK(pthread_create(&thread, 0, dies_with_it, 0) == 0 && pthread_join(thread, &result) == 0 &&
	      result == &robust);
	CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_consistent(&robust) == 0 &&
	      pthread_mutex_unlock(&robust) == 0);
	CHECK(pthread_mutex_lock(&robust) == 0 && syscall(SYS_get_robust_list, gettid(), &head, &size) == 0 && head);
	CHECK(pthread_mutex_unlock(&robust) == 0);
	CHECK(pthread_create(&thread, 0, dies_with_it, 0) == 0 && pthread_join(thread, &result) == 0 &&
	      result == &robust);
	CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD && pthread_mutex_unlock(&robust) == 0 &&
	      pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
	return pthread_mutex_destroy(&robust) == 0;
}
