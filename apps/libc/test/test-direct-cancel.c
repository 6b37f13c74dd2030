/* SPDX-License-Identifier: BSD-2-Clause */
/* Direct calls (posix/direct.c) of threads that are cancelled before them and in them: no data is lost, and none
 * twice. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "posixtest.h"

enum { ROOM = 64, LONG = 256 * 1024 };

static char buffer[ROOM], text[LONG];
static int ready_fd, other, result_errno;
static long result;

/* One end in ready_fd, the other, which has written `content`, in `other`. */
static bool open_pair(const char *content)
{
	int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	ready_fd = fds[0];
	other = fds[1];
	CHECK(send(other, content, strlen(content), 0) == (ssize_t)strlen(content));
	return true;
}

static void close_pair(void) { close(ready_fd), close(other); }

static void do_read(void) { result = read(ready_fd, buffer, ROOM); }
static void do_recv(void) { result = recv(ready_fd, buffer, ROOM, 0); }
static void do_send(void) { result = send(ready_fd, "more", 4, MSG_DONTWAIT); }
static void do_write(void) { result = write(ready_fd, "more", 4); }

static void do_wait(void)
{
	struct epoll_event event;

	result = epoll_wait(ready_fd, &event, 1, 0);
}

static int cancel_state;

/* Is cancelled before it makes a call that would succeed at once. */
static void *cancelled_before(void *argument)
{
	void (*call)(void);

	memcpy(&call, &argument, sizeof(call));
	result = -2;
	pthread_setcancelstate(cancel_state, 0);
	pthread_cancel(pthread_self());
	errno = 0;
	call();
	result_errno = errno;
	return 0;
}

static void *run(void (*call)(void), int state)
{
	pthread_t thread;
	void *argument, *ended = 0;

	cancel_state = state;
	memcpy(&argument, &call, sizeof(argument));
	if (pthread_create(&thread, 0, cancelled_before, argument) == 0)
		pthread_join(thread, &ended);
	return ended;
}

TEST(cancelled_calls_have_no_effect, "cancelled direct calls have no effect")
{
	void (*const on_pair[])(void) = { do_read, do_recv, do_send, do_write };

	/* a cancellation point: the layer knows where to look from now on */
	nanosleep(&(struct timespec){ .tv_nsec = 1 }, 0);
	for (unsigned i = 0; i < 4; i++) {
		CHECK(open_pair("abcdef"));
		CHECK(run(on_pair[i], PTHREAD_CANCEL_ENABLE) == PTHREAD_CANCELED && result == -2);
		CHECK(recv(other, buffer, ROOM, MSG_DONTWAIT) == -1 && errno == EAGAIN); /* nothing was written */
		CHECK(read(ready_fd, buffer, ROOM) == 6);                               /* nothing was read */
		close_pair();
	}
	struct epoll_event once = { .events = EPOLLIN | EPOLLONESHOT }, event;
	CHECK(open_pair("abcdef"));
	const int watched = ready_fd;
	ready_fd = epoll_create1(0);
	CHECK(epoll_ctl(ready_fd, EPOLL_CTL_ADD, watched, &once) == 0);
	CHECK(run(do_wait, PTHREAD_CANCEL_ENABLE) == PTHREAD_CANCELED && result == -2);
	CHECK(epoll_wait(ready_fd, &event, 1, 0) == 1); /* the one shot was not taken */
	close_pair();
	close(watched);
	return true;
}

TEST(disabled_and_masked, "direct calls with cancellation disabled and masked")
{
	CHECK(open_pair("abcdef"));
	CHECK(run(do_read, PTHREAD_CANCEL_DISABLE) == 0 && result == 6);
	CHECK(run(do_send, PTHREAD_CANCEL_DISABLE) == 0 && result == 4);
	CHECK(run(do_send, PTHREAD_CANCEL_MASKED) == 0 && result == -1 && result_errno == ECANCELED);
	CHECK(read(other, buffer, ROOM) == 4);
	close_pair();
	return true;
}

static volatile bool writes;

static void *write_long(void *state)
{
	pthread_setcancelstate((int)(long)state, 0);
	writes = true;
	result = write(ready_fd, text, LONG); /* more than fits: it sleeps behind the first bytes */
	pthread_testcancel();
	return 0;
}

static size_t read_all(int fd)
{
	static char piece[4096];
	size_t got = 0;

	for (ssize_t n; (n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT)) > 0; got += (size_t)n)
		for (ssize_t i = 0; i < n; i++)
			if (piece[i] != text[got + (size_t)i])
				return 0;
	return got;
}

/* Cancels a thread that has written a part; the bytes that arrive, and whether it was cancelled behind its call. */
static bool cancel_behind_part(int state, size_t *got)
{
	const struct timespec moment = { .tv_nsec = 5000000 };
	pthread_t thread;
	void *ended;

	writes = false;
	CHECK(open_pair(""));
	CHECK(pthread_create(&thread, 0, write_long, (void *)(long)state) == 0);
	while (!writes)
		nanosleep(&moment, 0);
	nanosleep(&moment, 0); /* it sleeps by now: on the test's host it may not, and is cancelled before it does */
	CHECK(pthread_cancel(thread) == 0);
	for (*got = 0; state == PTHREAD_CANCEL_DISABLE && *got < LONG;) {
		struct pollfd more = { .fd = other, .events = POLLIN };
		char piece[4096];
		CHECK(poll(&more, 1, -1) == 1);
		const ssize_t n = read(other, piece, sizeof(piece));
		CHECK(n > 0 && !memcmp(piece, text + *got, (size_t)n));
		*got += (size_t)n;
	}
	CHECK(pthread_join(thread, &ended) == 0);
	*got += state == PTHREAD_CANCEL_ENABLE ? read_all(other) : 0;
	close_pair();
	return ended == (state == PTHREAD_CANCEL_ENABLE ? PTHREAD_CANCELED : 0);
}

TEST(cancelled_behind_a_part, "a write that is cancelled behind a part")
{
	size_t got;

	for (size_t i = 0; i < LONG; i++)
		text[i] = (char)(i * 7 + i / 4096);
	result = -2;
	CHECK(cancel_behind_part(PTHREAD_CANCEL_ENABLE, &got));
	CHECK(result == -2 ? !got : result > 0 && result < LONG && got == (size_t)result);
	CHECK(cancel_behind_part(PTHREAD_CANCEL_DISABLE, &got) && got == LONG && result == LONG);
	return true;
}
