/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that servers make for each request, straight into the layer: the
 * members of musl's archive that hold read(), write(), readv(), writev(),
 * recv(), send() and epoll_wait() are replaced. They are cancellation points:
 * a thread that has been cancelled, or is while it sleeps here, makes the same
 * call again through musl's __syscall_cp(), which decides by the thread's
 * cancellation state. Until then the call has had no effect.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "family.h"
#include "layer.h"

long sys_read(const long *);
long sys_readv(const long *);
long sys_write(const long *);
long sys_recvfrom(const long *);
long sys_epoll_pwait(const long *);
long skerry_syscall(long, long, long, long, long, long, long);
long __syscall_cp(long, long, long, long, long, long, long); /* musl's, a cancellation point */

/* Not a result of any operation: the call goes musl's way. */
enum { NOT_DIRECT = -4095 };

static inline long answer(long result)
{
	if (__builtin_expect(result >= 0, 1))
		return result;
	errno = (int)-result;
	return -1;
}

static inline bool cancelled(void)
{
	int word;

	__asm__ volatile("movl %%fs:(%1), %0" : "=r"(word) : "r"(cancel_offset));
	return word;
}

/*
 * Takes the layer's lock, unless the thread has been cancelled. Before the program's first cancellation point nobody
 * can
 * tell: the offset is 0 then, and the word there the thread's own address, which passes for cancelled.
 */
static inline bool enter(void)
{
	if (cancelled())
		return false;
	layer_lock();
	return true;
}

static inline long leave(long result)
{
	require(layer_is_locked());
	if (result == NOT_DIRECT)
		family_keep();
	event_settle();
	layer_unlock();
	return result;
}

/* A system call that may sleep. One that was cancelled meanwhile has had no effect. */
static long sleep_in(long (*call)(const long *), const long *arguments)
{
	struct thread *self = thread_self();

	require((!self->cancel || self->cancel == &signal_interrupted) && (cancel_offset || signals_interrupt));
	self->cancel = (const volatile int *)(self->tls + (uintptr_t)cancel_offset);
	family_enter(); /* a handler that ran in the sleep would not end it */
	long result = call(arguments);
	family_leave();
	self->cancel = 0;
	return result == -EINTR ? NOT_DIRECT : result;
}

/* An empty transfer and one beyond SSIZE_MAX are answered without a look at the file's operations. */
static inline bool sized(size_t size) { return size - 1 < SSIZE_MAX; }

/* -EAGAIN: ask the system call, or wait_to_read() if the file is blocking(). */
static inline long read_now(struct file *file, void *buffer, size_t size)
{
	if (!file || !file->ops->read || !sized(size) || (file->flags & O_ACCMODE) == O_WRONLY)
		return -EAGAIN;
	return file->ops->read(file, buffer, size);
}

/* The one of read_now() that has found nothing yet, and will. Messages have rules of their own. */
static inline bool blocking(const struct file *file, size_t size)
{
	return file && file->ops->read && !file->ops->has_messages && sized(size) && !(file->flags & O_NONBLOCK) &&
	       (file->flags & O_ACCMODE) != O_WRONLY;
}

/* Continues file_readv() behind its first attempt. Arguments: the file, buffer and size. */
static long wait_to_read(const long *a)
{
	struct file *file = (struct file *)a[0];
	const uint64_t deadline = file->receive_timeout ? deadline_after(file->receive_timeout) : 0;
	ssize_t n = -EAGAIN;

	file_hold(file);
	while (file_again(file, EPOLLIN | EPOLLRDHUP, deadline, &n))
		n = file->ops->read(file, (void *)a[1], (size_t)a[2]);
	file_put(file);
	return n;
}

/* Seldom needed, so out of line: the usual read saves no registers for it. */
static __attribute__((noinline)) long read_later(int fd, void *buffer, size_t size)
{
	struct file *file = descriptor_file(fd);

	return blocking(file, size) ? sleep_in(wait_to_read, (const long[]){ (long)file, (long)buffer, (long)size })
				    : sleep_in(sys_read, (const long[]){ fd, (long)buffer, (long)size });
}

/* A negative result: an error, or the call goes musl's way. */
static __attribute__((noinline)) ssize_t read_failed(long n, int fd, void *buffer, size_t size)
{
	return answer(n != NOT_DIRECT ? n : __syscall_cp(SYS_read, fd, (long)buffer, (long)size, 0, 0, 0));
}

ssize_t read(int fd, void *buffer, size_t size)
{
	long n = NOT_DIRECT;

	if (enter()) {
		n = read_now(descriptor_file(fd), buffer, size);
		if (n == -EAGAIN)
			n = read_later(fd, buffer, size);
		leave(n);
	}
	return __builtin_expect(n >= 0, 1) ? n : read_failed(n, fd, buffer, size);
}

/* A socket's file, if `flags` ask for nothing that read() and write() could not do. */
static inline struct file *plain_socket(int fd, int flags)
{
	struct file *file = descriptor_file(fd);

	return file && file->ops->connect && !(flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL)) ? file : 0;
}

ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	long n = NOT_DIRECT;

	if (enter()) {
		struct file *file = plain_socket(fd, flags);

		n = read_now(file, buffer, size);
		if (n == -EAGAIN)
			n = blocking(file, size) && !(flags & MSG_DONTWAIT)
				    ? sleep_in(wait_to_read, (const long[]){ (long)file, (long)buffer, (long)size })
				    : sleep_in(sys_recvfrom,
				               (const long[]){ fd, (long)buffer, (long)size, flags, 0, 0 });
		leave(n);
	}
	return answer(n != NOT_DIRECT ? n : __syscall_cp(SYS_recvfrom, fd, (long)buffer, (long)size, flags, 0, 0));
}

/*
 * A thread that is cancelled while it waits behind its first `done` bytes returns these; one that has
 * disabled cancellation waits on.
 */
static long finish_write(int fd, const char *bytes, size_t done, size_t size)
{
	require(done && done < size);
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	long n = state == PTHREAD_CANCEL_DISABLE
	     ? skerry_syscall(SYS_write, fd, (long)(bytes + done), (long)(size - done), 0, 0, 0) : 0;
	pthread_setcancelstate(state, 0);
	return (long)done + (n > 0 ? n : 0);
}

/* Behind the first `n` bytes, if the file blocks. */
static __attribute__((noinline)) long write_rest(int fd, const char *bytes, long n, size_t size)
{
	require(n < (long)size);
	if (descriptor_file(fd)->flags & O_NONBLOCK || (n < 0 && n != -EAGAIN))
		return n;
	const size_t done = n > 0 ? (size_t)n : 0;
	const long rest = sleep_in(sys_write, (const long[]){ fd, (long)(bytes + done), (long)(size - done) });
	return rest > 0 ? (long)done + rest : done ? (long)done : rest;
}

/* With the lock held. NOT_DIRECT: nothing has been written. */
static inline long write_now(int fd, struct file *file, const char *bytes, size_t size, bool dont_wait)
{
	if (!file || !file->ops->write || file->ops->writev || !sized(size) || (file->flags & O_ACCMODE) == O_RDONLY)
		return NOT_DIRECT;
	if (file->ops->write_most && size > file->ops->write_most)
		return NOT_DIRECT;
	const long n = file->ops->write(file, bytes, size);

	return __builtin_expect(n == (long)size, 1) || dont_wait ? n : write_rest(fd, bytes, n, size);
}

static inline ssize_t after_write(int fd, const char *bytes, long n, size_t size)
{
	if (__builtin_expect(n > 0 && (size_t)n < size && cancelled(), 0))
		return finish_write(fd, bytes, (size_t)n, size);
	return answer(n);
}

static __attribute__((noinline)) ssize_t write_in_part(long n, int fd, const void *buffer, size_t size)
{
	if (n == NOT_DIRECT)
		return answer(__syscall_cp(SYS_write, fd, (long)buffer, (long)size, 0, 0, 0));
	return after_write(fd, buffer, written(n, 0), size);
}

ssize_t write(int fd, const void *buffer, size_t size)
{
	const long n = enter() ? leave(write_now(fd, descriptor_file(fd), buffer, size, false)) : NOT_DIRECT;

	return __builtin_expect(n >= 0 && n == (long)size, 1) ? n : write_in_part(n, fd, buffer, size);
}

ssize_t send(int fd, const void *buffer, size_t size, int flags)
{
	const bool dont_wait = flags & MSG_DONTWAIT;
	long n = enter() ? leave(write_now(fd, plain_socket(fd, flags), buffer, size, dont_wait)) : NOT_DIRECT;

	if (n == NOT_DIRECT)
		return answer(__syscall_cp(SYS_sendto, fd, (long)buffer, (long)size, flags, 0, 0));
	return dont_wait ? answer(written(n, flags)) : after_write(fd, buffer, written(n, flags), size);
}

ssize_t readv(int fd, const struct iovec *iov, int count)
{
	long n = enter() ? leave(sleep_in(sys_readv, (const long[]){ fd, (long)iov, count })) : NOT_DIRECT;

	return answer(n != NOT_DIRECT ? n : __syscall_cp(SYS_readv, fd, (long)iov, count, 0, 0, 0));
}

/* Never waits. */
static inline long writev_now(struct file *file, const struct iovec *iov, int count)
{
	return file && file->flags & O_NONBLOCK ? file_writev(file, iov, count, true) : NOT_DIRECT;
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	long n = enter() ? leave(writev_now(descriptor_file(fd), iov, count)) : NOT_DIRECT;

	return answer(n != NOT_DIRECT ? written(n, 0) : __syscall_cp(SYS_writev, fd, (long)iov, count, 0, 0, 0));
}

int epoll_pwait(int fd, struct epoll_event *events, int room, int timeout, const sigset_t *signals)
{
	const long arguments[] = { fd, (long)events, room, timeout, (long)signals, 8 };
#ifdef LAYER_FAMILY
	const bool direct = !signals && enter(); /* signal_call() sets the mask */
#else
	const bool direct = enter();
#endif
	long n = direct ? leave(sleep_in(sys_epoll_pwait, arguments)) : NOT_DIRECT;

	return (int)answer(n != NOT_DIRECT ? n
	                   : __syscall_cp(SYS_epoll_pwait, fd, (long)events, room, timeout, (long)signals, 8));
}

int epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
	return epoll_pwait(fd, events, room, timeout, 0);
}

/* The rest of musl's file: no cancellation points. */
int epoll_create1(int flags) { return (int)answer(skerry_syscall(SYS_epoll_create1, flags, 0, 0, 0, 0, 0)); }
int epoll_create(int size) { (void)size; return epoll_create1(0); }

int epoll_ctl(int fd, int operation, int watched, struct epoll_event *event)
{
	return (int)answer(skerry_syscall(SYS_epoll_ctl, fd, operation, watched, (long)event, 0, 0));
}
