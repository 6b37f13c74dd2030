/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer's form for several cores under ThreadSanitizer: threads that come and go, wait for each other, allocate for
 * each other and talk, all at once. Each case also checks what comes out. `test-races [ROUNDS [CASE]]`.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include "platform.h"
#include "races.h"
#include "syscalls.h"

#define PROTOTYPE(name) long sys_##name(const long *);
PROTOTYPE(futex) PROTOTYPE(read) PROTOTYPE(write) PROTOTYPE(pipe2) PROTOTYPE(eventfd2) PROTOTYPE(gettid)
PROTOTYPE(epoll_create1) PROTOTYPE(epoll_ctl) PROTOTYPE(epoll_wait) PROTOTYPE(dup) PROTOTYPE(exit)

enum { THREADS = 4, WAIT_MS = 1, BOX = 16 };
static unsigned rounds = 50;

/* As dispatch.c: a call that is LOCKED there, and one that is not. */
static long locked(long (*handler)(const long *), long a, long b, long c, long d)
{
	layer_lock();
	const long result = handler((const long[]){ a, b, c, d, 0, 0 });
	event_settle();
	layer_unlock();
	return result;
}

static long futex(_Atomic int *word, int operation, int value, const struct timespec *time)
{
	return sys_futex((const long[]){ (long)word, operation | FUTEX_PRIVATE_FLAG, value, (long)time, 0, 0 });
}

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "test-races: %s\n", what);
	exit(1);
}

/* Runs the function in so many threads of the layer, until all have ended. */
static void run(int (*function)(void *), unsigned count)
{
	static _Atomic int tid[THREADS];
	pthread_t host[THREADS];

	for (unsigned i = 0; i < count; i++)
		host[i] = race_thread(function, (void *)(uintptr_t)i, (int *)&tid[i]);
	for (unsigned i = 0; i < count; i++)
		for (int now; (now = atomic_load(&tid[i]));)
			futex(&tid[i], FUTEX_WAIT, now, 0);
	for (unsigned i = 0; i < count; i++)
		pthread_join(host[i], 0);
}

/* A mutex as musl makes one; a wait for it has an end now and then. */
static _Atomic int mutex;
static unsigned counted; /* under the mutex */

static void mutex_lock(bool timed)
{
	const struct timespec soon = { 0, 20000 };
	int expected = 0;

	if (atomic_compare_exchange_strong(&mutex, &expected, 1))
		return;
	while (atomic_exchange(&mutex, 2))
		futex(&mutex, FUTEX_WAIT, 2, timed ? &soon : 0);
}

static void mutex_unlock(void)
{
	if (atomic_exchange(&mutex, 0) == 2)
		futex(&mutex, FUTEX_WAKE, 1, 0);
}

static int count_up(void *self)
{
	for (unsigned i = 0; i < rounds; i++) {
		mutex_lock((uintptr_t)self % 2);
		counted++;
		mutex_unlock();
	}
	return 0;
}

static void futexes(void)
{
	counted = 0;
	run(count_up, THREADS);
	check(counted == THREADS * rounds, "a mutex lets two threads in");
}

/* Waiters of a barrier are moved to another futex, as those of a condition are, and woken there one by one. */
static _Atomic int arrived, turn, gate;

static int meet(void *self)
{
	(void)self;
	for (unsigned i = 0; i < rounds; i++) {
		const int now = atomic_load(&turn);
		if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
			atomic_store(&arrived, 0);
			atomic_fetch_add(&gate, 1);
			atomic_fetch_add(&turn, 1);
			sys_futex((const long[]){ (long)&turn, FUTEX_REQUEUE_PRIVATE, 1, THREADS, (long)&gate, 0 });
			futex(&gate, FUTEX_WAKE, THREADS, 0);
			continue;
		}
		const struct timespec soon = { 0, WAIT_MS * 1000000 };
		while (atomic_load(&turn) == now)
			futex(&turn, FUTEX_WAIT, now, &soon);
		futex(&gate, FUTEX_WAKE, 1, 0);
	}
	return 0;
}

static void requeues(void)
{
	atomic_store(&arrived, 0);
	run(meet, THREADS);
	check(!atomic_load(&arrived), "a thread has not arrived");
}

/* Blocks that one thread allocates and another one frees. */
static unsigned char *_Atomic box[BOX];

static int allocate(void *self)
{
	unsigned random = (unsigned)(uintptr_t)self * 2654435761u + 1;

	for (unsigned i = 0; i < 10 * rounds; i++) {
		random = random * 1664525 + 1013904223;
		const size_t size = 16 + (random >> 8) % (i % 50 ? 700 : 70000);
		unsigned char *block = blocks_malloc(size);
		check(block, "there is no memory");
		memset(block, (int)(size & 0xff), size > 600 ? 600 : size);
		if (i % 7 == 0)
			block = blocks_realloc(block, size + 100);
		block = atomic_exchange(&box[random >> 28], block);
		if (block) {
			check(block[0] == block[15], "a block has the bytes of another one");
			blocks_free(block);
		}
	}
	return 0;
}

static void blocks(void) { run(allocate, THREADS); }

/* Two pipes in a ring: what one thread writes another one passes on. */
static int ends[2][2];

static int pass(void *self)
{
	const unsigned number = (unsigned)(uintptr_t)self;
	char byte = 0;

	for (unsigned i = 0; i < rounds; i++) {
		if (number) {
			check(locked(sys_read, ends[0][0], (long)&byte, 1, 0) == 1, "a pipe is read no byte of");
			check(locked(sys_write, ends[1][1], (long)&byte, 1, 0) == 1, "a pipe takes no byte");
			continue;
		}
		const char sent = (char)i;
		check(locked(sys_write, ends[0][1], (long)&sent, 1, 0) == 1, "a pipe takes no byte");
		check(locked(sys_read, ends[1][0], (long)&byte, 1, 0) == 1 && byte == sent, "another byte comes back");
	}
	return 0;
}

static void pipes(void)
{
	for (unsigned i = 0; i < 2; i++)
		check(!locked(sys_pipe2, (long)ends[i], 0, 0, 0), "there is no pipe");
	run(pass, 2);
	for (unsigned i = 0; i < 4; i++)
		check(!locked(sys_close, ends[i / 2][i % 2], 0, 0, 0), "a pipe cannot be closed");
}

/* Threads that add to an eventfd, and those that wait for it by epoll; copies of the descriptor come and go. */
static int event, poll;
static _Atomic unsigned taken;

static int add_or_take(void *self)
{
	const uint64_t one = 1;
	struct epoll_event ready;
	uint64_t value;

	if ((uintptr_t)self % 2) {
		for (unsigned i = 0; i < rounds; i++) {
			const long copy = locked(sys_dup, event, 0, 0, 0);
			check(copy >= 0 && locked(sys_write, copy, (long)&one, 8, 0) == 8, "an eventfd takes nothing");
			check(!locked(sys_close, copy, 0, 0, 0), "a copy cannot be closed");
		}
		return 0;
	}
	while (atomic_load(&taken) < THREADS / 2 * rounds) {
		locked(sys_epoll_wait, poll, (long)&ready, 1, WAIT_MS);
		if (locked(sys_read, event, (long)&value, 8, 0) == 8)
			atomic_fetch_add(&taken, (unsigned)value);
	}
	return 0;
}

static void events(void)
{
	struct epoll_event wanted = { .events = EPOLLIN };

	atomic_store(&taken, 0);
	event = (int)locked(sys_eventfd2, 0, O_NONBLOCK, 0, 0);
	poll = (int)locked(sys_epoll_create1, 0, 0, 0, 0);
	check(event >= 0 && poll >= 0, "there is no eventfd, or no epoll");
	check(!locked(sys_epoll_ctl, poll, EPOLL_CTL_ADD, event, (long)&wanted), "epoll refuses an eventfd");
	run(add_or_take, THREADS);
	check(atomic_load(&taken) == THREADS / 2 * rounds, "an eventfd has counted otherwise");
	check(!locked(sys_close, event, 0, 0, 0) && !locked(sys_close, poll, 0, 0, 0), "a file cannot be closed");
}

/* Threads make threads, while others ask for their own numbers. */
static int nothing(void *self)
{
	(void)self;
	return sys_gettid(0) > 0 ? 0 : 1;
}

static int make_threads(void *self)
{
	static _Atomic int tid[THREADS];
	const unsigned number = (unsigned)(uintptr_t)self;

	for (unsigned i = 0; i < rounds / 4 + 1; i++) {
		const pthread_t host = race_thread(nothing, 0, (int *)&tid[number]);
		for (int now; (now = atomic_load(&tid[number]));)
			futex(&tid[number], FUTEX_WAIT, now, 0);
		pthread_join(host, 0);
	}
	return 0;
}

static void begins_and_ends(void) { run(make_threads, THREADS); }

/* Threads that sleep in cancellation points, on a futex and in a pipe, and are cancelled before or in their sleep. */
static _Atomic int cancelled[2], never;

static int sleep_in_point(void *self)
{
	const uintptr_t number = (uintptr_t)self;
	struct thread *own = thread_self();
	char byte;

	own->cancel = (const volatile int *)&cancelled[number];
	const long result = number ? locked(sys_read, ends[0][0], (long)&byte, 1, 0) : futex(&never, FUTEX_WAIT, 0, 0);
	own->cancel = 0;
	check(result == -EINTR, "a cancelled thread does not give up");
	return 0;
}

static long interrupt(const long *a) { return a[0] ? thread_interrupt((int)a[0]) : 0; }

static void cancels(void)
{
	static _Atomic int tid[2];
	pthread_t host[2];

	check(!locked(sys_pipe2, (long)ends[0], 0, 0, 0), "there is no pipe");
	for (unsigned i = 0; i < rounds / 4 + 1; i++) {
		for (unsigned n = 0; n < 2; n++) {
			atomic_store(&cancelled[n], 0);
			host[n] = race_thread(sleep_in_point, (void *)(uintptr_t)n, (int *)&tid[n]);
		}
		for (unsigned n = 0; n < 2; n++) {
			atomic_store(&cancelled[n], 1);
			locked(interrupt, atomic_load(&tid[n]), 0, 0, 0);
			for (int now; (now = atomic_load(&tid[n]));)
				futex(&tid[n], FUTEX_WAIT, now, 0);
			pthread_join(host[n], 0);
		}
	}
	check(!locked(sys_close, ends[0][0], 0, 0, 0) && !locked(sys_close, ends[0][1], 0, 0, 0),
	      "a pipe cannot be closed");
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "futexes", futexes }, { "requeues", requeues }, { "blocks", blocks }, { "pipes", pipes },
	{ "events", events }, { "threads", begins_and_ends }, { "cancels", cancels },
};

int main(int argc, char **argv)
{
	uintptr_t tls;

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : rounds;
	check(rounds > 0, "ROUNDS is a number above 0");
	platform_start();
	memory_start();
	malloc_start();
	__asm__("mov %%fs:0, %0" : "=r"(tls));
	race_begin(tls);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc < 3 || !strcmp(argv[2], cases[i].name)) {
			cases[i].run();
			printf("ok %s\n", cases[i].name);
		}
	return 0;
}
