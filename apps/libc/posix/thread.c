/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads. The first is number 0 and its thread id is the process id. A place
 * in the table stands for a TCB, a notification and an IPC buffer, which are
 * made once and used again by later threads.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include "family.h"
#include "layer.h"
#include "platform.h"

enum { PROCESS_ID = 1 };

long skerry_syscall(long, long, long, long, long, long, long);

struct thread threads[THREADS_MAX] = { { .tid = PROCESS_ID } };
unsigned thread_places = 1;
static bool tls_ready;
static int last_tid = PROCESS_ID;

/* By what %fs:0 reads: musl keeps each thread's own address there. */
struct thread *thread_self(void)
{
	uintptr_t tls;

	if (!tls_ready)
		return &threads[0];
	__asm__("mov %%fs:0, %0" : "=r"(tls));
	if (threads[0].tls == tls) /* most often */
		return &threads[0];
	for (unsigned i = 1; i < UNLOCKED_READ(thread_places); i++)
		if (UNLOCKED_READ(threads[i].tls) == tls && UNLOCKED_READ(threads[i].tid))
			return &threads[i];
	return &threads[0];
}

void thread_sleep(struct thread *self, uint64_t deadline)
{
	require(layer_is_locked() && self->index < thread_places);
	layer_unlock();
	platform_wait(self->index, deadline);
	layer_lock();
}

void thread_signal(struct thread *thread) { platform_signal(thread->index); }

/* musl's __set_thread_area(); only the first thread calls it. */
int __set_thread_area(void *tls)
{
	int result = platform_set_tls((uintptr_t)tls);

	threads[0].tls = (uintptr_t)tls;
	tls_ready = result == 0;
	return result;
}

long sys_arch_prctl(const long *a)
{
	enum { ARCH_SET_FS = 0x1002 };

	return a[0] == ARCH_SET_FS ? __set_thread_area((void *)a[1]) : -EINVAL;
}

/* Returns whether the thread's end is told by thread_leave(), below. */
#ifdef LAYER_CORES
static bool leaves_later(const struct thread *self) { return self->index != 0; }
#else
static bool leaves_later(const struct thread *self) { return (void)self, false; }
#endif

/* The lock stays held until the stack, which others may free now, is no longer needed. */
static _Noreturn void thread_end(struct thread *self)
{
	int *clear = self->clear_tid;

	require(layer_is_locked() && self->tid && !self->futex && !self->event_waiter);
	event_leave();
	if (clear && !leaves_later(self)) {
		__atomic_store_n(clear, 0, __ATOMIC_RELEASE);
		futex_wake((uint32_t *)clear, 1);
	}
	if (self->index == 0) /* the first thread's place is never used again: it only waits */
		for (;;) {
#ifdef LAYER_FAMILY
			family_receive(); /* it blocks all: others take them */
#endif
			thread_sleep(self, 0);
		}
	signal_thread_end(self);
	UNLOCKED_WRITE(self->tid, 0);
	UNLOCKED_WRITE(self->tls, 0);
#ifdef LAYER_CORES
	platform_thread_end(self->index);
#else
	platform_thread_end(self->index, &layer_held);
#endif
}

#ifdef LAYER_CORES
/*
 * Tells that the thread has ended, and releases the layer's lock. The caller has left the thread's stack, which a
 * joiner may use as soon as the word is clear; its TLS, which is there, must not be read either.
 */
void thread_leave(unsigned index)
{
	const struct thread *self = &threads[index];
	int *clear = self->clear_tid;

	require(layer_is_locked() && !self->tid);
	if (clear) {
		__atomic_store_n(clear, 0, __ATOMIC_RELEASE);
		futex_wake_by(self, (uint32_t *)clear, 1);
	}
	layer_unlock();
}
#endif

/* Runs the thread's function. Its result is ignored: a thread's result is in musl's struct. */
static void thread_start(void *function, void *argument)
{
	((int (*)(void *))function)(argument);
	layer_lock();
	thread_end(thread_self());
}

/* Nobody uses the place but thread_self(). */
static void take_place(struct thread *t, unsigned index, uintptr_t tls)
{
#ifdef LAYER_CORES
	t->index = index;
	t->clear_tid = 0;
	t->robust_list = 0;
	t->event_waiter = false;
	t->cancel = 0;
	UNLOCKED_WRITE(t->tls, tls);
	UNLOCKED_WRITE(t->tid, ++last_tid);
#else
	*t = (struct thread){ .tid = ++last_tid, .index = index, .tls = tls };
#endif
}

static int thread_create(void *function, void *stack, int flags, void *argument, int *parent_tid, uintptr_t tls,
			 int *clear)
{
	const int needed = CLONE_VM | CLONE_THREAD | CLONE_SETTLS;
	const unsigned most = platform_info()->threads;
	struct thread *t = threads;
	unsigned used = 0;

	if ((flags & needed) != needed)
		return -ENOSYS; /* no processes are made here */
	for (unsigned i = 0; i < thread_places; i++)
		used += threads[i].tid != 0;
	if (most && used >= most)
		return -EAGAIN;
	while (t->tid)
		if (++t == threads + THREADS_MAX)
			return -EAGAIN;
	unsigned index = (unsigned)(t - threads);
	require(layer_is_locked() && index <= thread_places);
	if (index == thread_places)
		UNLOCKED_WRITE(thread_places, thread_places + 1);
	take_place(t, index, tls);
	if (flags & CLONE_CHILD_CLEARTID)
		t->clear_tid = clear;
	if (flags & CLONE_PARENT_SETTID)
		*parent_tid = t->tid;
	signal_thread_start(t, thread_self());
	cores_choose(t, thread_self());
	int error = platform_thread_start(index, (uintptr_t)stack & ~15ul, tls, thread_start, function, argument);
	if (error) {
		UNLOCKED_WRITE(t->tid, 0);
		return error;
	}
	return t->tid;
}

#ifdef LAYER_FAMILY
/* Forks for posix_spawn(): the child runs the function and nothing else, and a pipe tells the parent of its end. The
 * child's memory is a copy, so it needs no stack of its own. */
static int spawn(int (*function)(void *), void *argument)
{
	const long pid = skerry_syscall(SYS_fork, 0, 0, 0, 0, 0, 0);

	if (!pid)
		skerry_syscall(SYS_exit_group, function(argument), 0, 0, 0, 0, 0);
	return (int)pid;
}
#endif
int thread_create_own(int (*function)(void *), void *stack, void *tls)
{
	return thread_create((void *)function, stack, CLONE_VM | CLONE_THREAD | CLONE_SETTLS, 0, 0, (uintptr_t)tls, 0);
}

/* musl's, in place of its assembly file */
int __clone(int (*function)(void *), void *stack, int flags, void *argument, int *parent_tid, void *tls, int *clear)
{
#ifdef LAYER_FAMILY
	if (flags & CLONE_VFORK)
		return spawn(function, argument);
#endif
	layer_lock();
	int result = thread_create((void *)function, stack, flags, argument, parent_tid, (uintptr_t)tls, clear);
	layer_unlock();
	return result;
}

long sys_exit(const long *a)
{
	(void)a;
	thread_end(thread_self());
}

/* musl's: a detached thread frees the stack that it runs on. */
_Noreturn void __unmapself(void *base, size_t size)
{
	long sys_munmap(const long *);

	layer_lock();
	sys_munmap((const long[]){ (long)base, (long)size });
	thread_end(thread_self());
}

/* Ends the process. Written data is still sent, and the peers of open connections see their end. */
long sys_exit_group(const long *a)
{
	for (int fd = 0; fd < descriptor_count_max(); fd++)
		if (descriptor_file(fd))
			sys_close((const long[]){ fd });
	event_poll();
#ifdef LAYER_FAMILY
	platform_exit(family_status((int)a[0]));
#else
	platform_exit((int)a[0] & 0xff); /* all that Linux tells the parent */
#endif
}
long sys_gettid(const long *a) { (void)a; return thread_self()->tid; }

#ifdef LAYER_FAMILY

void thread_born(int pid) { threads[0].tid = last_tid = pid; }

void thread_forked(const struct thread *self)
{
	struct thread own = *self;

	own.index = 0;
	own.tid = last_tid = process_id;
	own.clear_tid = 0;
	memset(threads, 0, sizeof(threads));
	threads[0] = own;
	thread_places = 1;
	require(layer_is_locked() && !own.futex && !own.event_waiter);
}

#else
long sys_getpid(const long *a) { (void)a; return PROCESS_ID; }
#endif

long sys_set_tid_address(const long *a)
{
	struct thread *self = thread_self();

	self->clear_tid = (int *)a[0];
	return self->tid;
}

enum { ROBUST_HEAD_SIZE = 3 * sizeof(long) }; /* Linux's struct robust_list_head */

/* musl marks the mutexes of the list itself when a thread ends, and no other process holds any. */
long sys_set_robust_list(const long *a)
{
	if (a[1] != ROBUST_HEAD_SIZE)
		return -EINVAL;
	thread_self()->robust_list = (void *)a[0];
	return 0;
}

long sys_get_robust_list(const long *a)
{
	const struct thread *t = a[0] ? threads : thread_self();

	while (a[0] && t->tid != (int)a[0])
		if (++t == threads + thread_places)
			return -ESRCH;
	*(void **)a[1] = t->robust_list;
	*(size_t *)a[2] = ROBUST_HEAD_SIZE;
	return 0;
}
