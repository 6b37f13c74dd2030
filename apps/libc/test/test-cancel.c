/* SPDX-License-Identifier: BSD-2-Clause */
/* Cancellation: threads asleep in each kind of call, deferred and disabled, and what their handlers find. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "posixtest.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t asleep, go_on;
static int cleaned, pipe_ends[2], watching, listener;
static struct timespec day = { .tv_sec = 86400 };

static void clean(void *how_much) { cleaned += (int)(long)how_much; }

static void unlock(void *held)
{
	cleaned += pthread_mutex_trylock(held) == EBUSY; /* a cancelled wait has taken its mutex again */
	pthread_mutex_unlock(held);
}

static void wait_condition(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
	pthread_cleanup_pop(1);
}

static void wait_condition_long(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 86400;
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	for (;;)
		pthread_cond_timedwait(&never, &mutex, &until);
	pthread_cleanup_pop(1);
}

static void wait_semaphore(void) { sem_wait(&go_on); }
static void sleep_long(void) { nanosleep(&day, 0); }
static void sleep_until(void) { clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &(struct timespec){ 1l << 40, 0 }, 0); }
static void sleep_for_ever(void) { pause(); }

static void read_pipe(void)
{
	char byte;

	(void)!read(pipe_ends[0], &byte, 1);
}

static void write_pipe(void)
{
	static const char block[4096];

	while (write(pipe_ends[1], block, sizeof(block)) > 0) {
	}
}

static void poll_pipe(void)
{
	struct pollfd p = { .fd = pipe_ends[0], .events = POLLIN };

	poll(&p, 1, -1);
}

static void select_pipe(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pipe_ends[0], &set);
	select(pipe_ends[0] + 1, &set, 0, 0, 0);
}

static void wait_epoll(void)
{
	struct epoll_event event;

	epoll_wait(watching, &event, 1, -1);
}

static void accept_one(void) { accept(listener, 0, 0); }

static void *run_cleaned(void *call)
{
	void (*sleeps)(void);

	memcpy(&sleeps, &call, sizeof(sleeps));
	pthread_cleanup_push(clean, (void *)10);
	sem_post(&asleep);
	sleeps();
	cleaned += 100; /* the call has returned */
	pthread_cleanup_pop(0);
	return 0;
}

/* Lets the other thread run until it sleeps: all threads share a core, but on the test's host. */
static void let_it_sleep(void)
{
	sem_wait(&asleep);
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, 0);
}

/* Starts a thread that sleeps in the call, cancels it, and joins it. */
static bool cancel_in(void (*call)(void), int cleanups)
{
	pthread_t thread;
	void *argument, *result = 0;

	memcpy(&argument, &call, sizeof(argument));
	cleaned = 0;
	CHECK(pthread_create(&thread, 0, run_cleaned, argument) == 0);
	let_it_sleep();
	CHECK(pthread_cancel(thread) == 0);
	CHECK(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED);
	CHECK(cleaned == 10 + cleanups);
	return true;
}

static bool open_pipe(void)
{
	CHECK(pipe(pipe_ends) == 0);
	CHECK(sem_init(&asleep, 0, 0) == 0 && sem_init(&go_on, 0, 0) == 0);
	return true;
}

static bool close_pipe(void)
{
	CHECK(close(pipe_ends[0]) == 0 && close(pipe_ends[1]) == 0);
	return true;
}

TEST(in_waits, "cancelled in waits for other threads")
{
	sem_init(&asleep, 0, 0);
	sem_init(&go_on, 0, 0);
	CHECK(cancel_in(wait_condition, 1) && cancel_in(wait_condition_long, 1));
	CHECK(pthread_mutex_trylock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
	CHECK(cancel_in(wait_semaphore, 0));
	return true;
}

TEST(in_sleeps, "cancelled in sleeps")
{
	CHECK(cancel_in(sleep_long, 0) && cancel_in(sleep_until, 0) && cancel_in(sleep_for_ever, 0));
	return true;
}

TEST(in_files, "cancelled in waits for files")
{
	struct epoll_event event = { .events = EPOLLIN };

	CHECK(open_pipe());
	CHECK((watching = epoll_create1(0)) >= 0 && epoll_ctl(watching, EPOLL_CTL_ADD, pipe_ends[0], &event) == 0);
	CHECK(cancel_in(read_pipe, 0) && cancel_in(poll_pipe, 0) && cancel_in(select_pipe, 0) &&
	      cancel_in(wait_epoll, 0));
	CHECK(close(watching) == 0);
	CHECK(cancel_in(write_pipe, 0));
	return close_pipe();
}

/* Where there is a network; posixtest has none in the machine, and its host has one. */
TEST(in_accept, "cancelled in accept")
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0) {
		CHECK(errno == EAFNOSUPPORT);
		return true;
	}
	CHECK(bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener, 1) == 0);
	CHECK(cancel_in(accept_one, 0));
	close(listener);
	return true;
}

/* All that can sleep at once, the poller of the network among them; woken in another order than they slept. */
TEST(several_at_once, "cancelled several at once")
{
	void (*const calls[])(void) = { read_pipe, wait_condition, sleep_long };
	pthread_t threads[3];
	void *argument, *result;

	CHECK(open_pipe());
	for (unsigned round = 0; round < 30; round++) {
		for (unsigned i = 0; i < 3; i++) {
			memcpy(&argument, &calls[(i + round) % 3], sizeof(argument));
			CHECK(pthread_create(&threads[i], 0, run_cleaned, argument) == 0);
		}
		for (unsigned i = 0; i < 3; i++)
			sem_wait(&asleep);
		if (round % 2)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, 0);
		for (unsigned i = 0; i < 3; i++) {
			CHECK(pthread_cancel(threads[(i + round / 3) % 3]) == 0);
			CHECK(pthread_join(threads[(i + round / 3) % 3], &result) == 0 && result == PTHREAD_CANCELED);
		}
	}
	return close_pipe();
}

static void *read_then_point(void *argument)
{
	char byte = 0;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
	sem_post(&asleep);
	cleaned = read(pipe_ends[0], &byte, 1) == 1 && byte == 'x' ? 1 : -1;
	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
	cleaned += 2;
	pthread_testcancel();
	cleaned = -1;
	return argument;
}

TEST(disabled_is_not_disturbed, "disabled cancellation does not disturb")
{
	pthread_t thread;
	void *result;

	CHECK(open_pipe());
	cleaned = 0;
	CHECK(pthread_create(&thread, 0, read_then_point, 0) == 0);
	let_it_sleep();
	CHECK(pthread_cancel(thread) == 0);
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, 0);
	CHECK(cleaned == 0); /* it still sleeps */
	CHECK(write(pipe_ends[1], "x", 1) == 1);
	CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && cleaned == 3);
	return close_pipe();
}

static void *lock_then_point(void *argument)
{
	sem_post(&asleep);
	pthread_mutex_lock(&mutex); /* no cancellation point */
	cleaned = 1;
	pthread_mutex_unlock(&mutex);
	nanosleep(&day, 0); /* one */
	return argument;
}

TEST(deferred_until_a_point, "deferred until a cancellation point")
{
	pthread_t thread;
	void *result;

	cleaned = 0;
	pthread_mutex_lock(&mutex);
	CHECK(pthread_create(&thread, 0, lock_then_point, 0) == 0);
	let_it_sleep();
	CHECK(pthread_cancel(thread) == 0);
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, 0);
	CHECK(cleaned == 0);
	pthread_mutex_unlock(&mutex);
	CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && cleaned == 1);
	return true;
}

/* As Redis's background threads do it. */
static void *asynchronous(void *argument)
{
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
	return run_cleaned(argument);
}

TEST(asynchronous_asleep, "asynchronous cancellation ends sleepers")
{
	void (*call)(void) = wait_condition;
	pthread_t thread;
	void *argument, *result;

	memcpy(&argument, &call, sizeof(argument));
	CHECK(pthread_create(&thread, 0, asynchronous, argument) == 0);
	let_it_sleep();
	CHECK(pthread_cancel(thread) == 0);
	CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
	CHECK(pthread_kill(pthread_self(), 0) == 0);
	return true;
}
