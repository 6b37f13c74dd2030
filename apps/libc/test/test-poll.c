/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "posixtest.h"

TEST(pipe_carries_all, "a pipe carries all")
{
	char buffer[1024];
	int fds[2];

	CHECK(pipe2(fds, O_NONBLOCK) == 0);
	CHECK(read(fds[0], buffer, 1) == -1 && errno == EAGAIN);
	memset(buffer, 'x', sizeof(buffer));
	size_t written = 0, got = 0;
	ssize_t n;
	while ((n = write(fds[1], buffer, sizeof(buffer))) > 0)
		written += (size_t)n;
	CHECK(n == -1 && errno == EAGAIN && written >= 4096);
	while ((n = read(fds[0], buffer, 777)) > 0)
		got += (size_t)n;
	CHECK(got == written);
	close(fds[1]);
	CHECK(read(fds[0], buffer, 1) == 0); /* end of file */
	close(fds[0]);
	return true;
}

TEST(write_without_reader, "writing without a reader fails")
{
	int fds[2];

	CHECK(pipe(fds) == 0);
	close(fds[0]);
	CHECK(write(fds[1], "x", 1) == -1 && errno == EPIPE);
	close(fds[1]);
	return true;
}

static void *write_slowly(void *argument)
{
	int fd = *(int *)argument;

	for (int i = 0; i < 20; i++) {
		nanosleep(&(struct timespec){ 0, 2000000 }, 0);
		if (write(fd, "0123456789", 10) != 10)
			return 0;
	}
	close(fd);
	return argument;
}

TEST(blocking_read_waits_for_a_thread, "a blocking read waits for a thread")
{
	char buffer[64];
	int fds[2];
	ssize_t n, total = 0;
	pthread_t writer;
	void *result;

	CHECK(pipe(fds) == 0);
	CHECK(pthread_create(&writer, 0, write_slowly, &fds[1]) == 0);
	while ((n = read(fds[0], buffer, sizeof(buffer))) > 0)
		total += n;
	CHECK(n == 0 && total == 200);
	CHECK(pthread_join(writer, &result) == 0 && result == &fds[1]);
	close(fds[0]);
	return true;
}

static void *read_all(void *argument)
{
	static char buffer[5000];
	long total = 0;
	ssize_t n;

	while ((n = read(*(int *)argument, buffer, sizeof(buffer))) > 0)
		total += n;
	return (void *)total;
}

TEST(blocking_write_waits_for_room, "a blocking write waits for room")
{
	static char block[100000];
	int fds[2];
	pthread_t reader;
	void *total;

	CHECK(pipe(fds) == 0);
	CHECK(pthread_create(&reader, 0, read_all, &fds[0]) == 0);
	for (int i = 0; i < 10; i++)
		CHECK(write(fds[1], block, sizeof(block)) == sizeof(block));
	close(fds[1]);
	CHECK(pthread_join(reader, &total) == 0 && (long)total == 1000000);
	close(fds[0]);
	return true;
}

TEST(poll_and_select, "poll and select")
{
	int fds[2];
	fd_set set;

	CHECK(pipe(fds) == 0);
	struct pollfd p[2] = { { .fd = fds[0], .events = POLLIN }, { .fd = fds[1], .events = POLLOUT } };
	CHECK(poll(p, 1, 0) == 0);
	uint64_t start = now_ns();
	CHECK(poll(p, 1, 20) == 0);
	CHECK(now_ns() - start >= 20000000);
	CHECK(poll(p, 2, -1) == 1 && p[1].revents == POLLOUT);
	CHECK(write(fds[1], "x", 1) == 1);
	CHECK(poll(p, 2, 0) == 2 && p[0].revents == POLLIN);
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	CHECK(select(fds[0] + 1, &set, 0, 0, 0) == 1 && FD_ISSET(fds[0], &set));
	close(fds[1]);
	CHECK(poll(p, 1, 0) == 1 && p[0].revents & POLLHUP);
	close(fds[0]);
	CHECK(poll(p, 1, 0) == 1 && p[0].revents == POLLNVAL);
	return true;
}

TEST(epoll_levels_and_edges, "epoll: levels and edges")
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 42 }, out[4];
	char c;
	int fds[2], e = epoll_create1(0);

	CHECK(e >= 0 && pipe(fds) == 0);
	CHECK(epoll_ctl(e, EPOLL_CTL_ADD, fds[0], &event) == 0);
	CHECK(epoll_ctl(e, EPOLL_CTL_ADD, fds[0], &event) == -1 && errno == EEXIST);
	CHECK(epoll_wait(e, out, 4, 0) == 0);
	CHECK(write(fds[1], "ab", 2) == 2);
	CHECK(epoll_wait(e, out, 4, -1) == 1 && out[0].data.u64 == 42 && out[0].events == EPOLLIN);
	CHECK(epoll_wait(e, out, 4, 0) == 1); /* level: still ready */
	event.events = EPOLLIN | EPOLLET;
	CHECK(epoll_ctl(e, EPOLL_CTL_MOD, fds[0], &event) == 0);
	CHECK(epoll_wait(e, out, 4, 0) == 1);
	CHECK(epoll_wait(e, out, 4, 0) == 0); /* edge: told once */
	CHECK(write(fds[1], "c", 1) == 1);
	CHECK(epoll_wait(e, out, 4, 0) == 1);
	event.events = EPOLLIN | EPOLLONESHOT;
	CHECK(epoll_ctl(e, EPOLL_CTL_MOD, fds[0], &event) == 0);
	CHECK(epoll_wait(e, out, 4, 0) == 1 && epoll_wait(e, out, 4, 0) == 0);
	CHECK(epoll_ctl(e, EPOLL_CTL_DEL, fds[0], 0) == 0);
	CHECK(epoll_ctl(e, EPOLL_CTL_DEL, fds[0], 0) == -1 && errno == ENOENT);
	CHECK(read(fds[0], &c, 1) == 1 && c == 'a');
	close(fds[0]), close(fds[1]), close(e);
	return true;
}

/* Each end of a channel has an epoll that watches it for all events, edge-triggered. */
static int watch_edges(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events | EPOLLET };
	int e = epoll_create1(0);
	return e >= 0 && epoll_ctl(e, EPOLL_CTL_ADD, fd, &event) == 0 ? e : -1;
}

/* Returns the events of an edge since the last call, or 0. */
static uint32_t edge(int e)
{
	struct epoll_event out = { 0 };
	return epoll_wait(e, &out, 1, 0) == 1 ? out.events : 0;
}

/* Writes until there is no room, and reads all; the other end does not wait. */
static bool fill(int fd)
{
	static char block[4096];
	while (write(fd, block, sizeof(block)) > 0)
		;
	return errno == EAGAIN;
}

static bool drain(int fd)
{
	static char block[4096];
	while (read(fd, block, sizeof(block)) > 0)
		;
	return errno == EAGAIN;
}

enum { ALL_EVENTS = EPOLLIN | EPOLLOUT | EPOLLRDHUP };

/* An end has an edge when the other one writes, makes room in what was full, or closes; and none of what it does
 * itself. */
TEST(edges_of_a_pipe, "epoll: edges of a pipe")
{
	char c[4];
	int fds[2];
	CHECK(pipe2(fds, O_NONBLOCK) == 0);
	int reader = watch_edges(fds[0], ALL_EVENTS), writer = watch_edges(fds[1], ALL_EVENTS);
	CHECK(edge(reader) == 0 && edge(writer) == EPOLLOUT);
	for (int i = 0; i < 3; i++) {
		CHECK(write(fds[1], "ab", 2) == 2);
		CHECK(edge(reader) == EPOLLIN && edge(writer) == 0);
	}
	CHECK(read(fds[0], c, 1) == 1);
	CHECK(edge(reader) == 0 && edge(writer) == 0);
	CHECK(drain(fds[0]));
	CHECK(edge(reader) == 0 && edge(writer) == 0);
	CHECK(fill(fds[1]));
	CHECK(edge(reader) == EPOLLIN && edge(writer) == 0);
	CHECK(drain(fds[0]));
	CHECK(edge(reader) == 0 && edge(writer) == EPOLLOUT);
	CHECK(write(fds[1], "a", 1) == 1);
	CHECK(edge(reader) == EPOLLIN && edge(writer) == 0);
	close(fds[1]);
	CHECK(edge(reader) == (EPOLLIN | EPOLLHUP) && edge(reader) == 0);
	close(fds[0]), close(reader), close(writer);
	CHECK(pipe2(fds, O_NONBLOCK) == 0);
	writer = watch_edges(fds[1], ALL_EVENTS);
	CHECK(edge(writer) == EPOLLOUT);
	close(fds[0]);
	CHECK(edge(writer) == (EPOLLOUT | EPOLLERR) && edge(writer) == 0);
	close(fds[1]), close(writer);
	return true;
}

/* The same of sockets, which are told of room by each read that leaves nothing. */
TEST(edges_of_a_pair, "epoll: edges of a socket pair")
{
	char c[4];
	int fds[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
	int reader = watch_edges(fds[0], ALL_EVENTS), writer = watch_edges(fds[1], ALL_EVENTS),
	    in = watch_edges(fds[0], EPOLLIN);
	CHECK(edge(reader) == EPOLLOUT && edge(writer) == EPOLLOUT && edge(in) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(write(fds[1], "ab", 2) == 2);
		CHECK(edge(reader) == (EPOLLIN | EPOLLOUT) && edge(writer) == 0 && edge(in) == EPOLLIN);
	}
	CHECK(read(fds[0], c, 1) == 1);
	CHECK(edge(reader) == 0 && edge(writer) == 0 && edge(in) == 0);
	CHECK(recv(fds[0], c, 1, MSG_PEEK) == 1);
	CHECK(edge(reader) == 0 && edge(writer) == 0 && edge(in) == 0);
	CHECK(drain(fds[0]));
	CHECK(edge(reader) == 0 && edge(writer) == EPOLLOUT && edge(in) == 0);
	CHECK(drain(fds[0]) && edge(writer) == 0);
	CHECK(fill(fds[1]));
	CHECK(edge(reader) == (EPOLLIN | EPOLLOUT) && edge(writer) == 0 && edge(in) == EPOLLIN);
	CHECK(drain(fds[0]));
	CHECK(edge(reader) == 0 && edge(writer) == EPOLLOUT && edge(in) == 0);
	CHECK(write(fds[0], "a", 1) == 1);
	CHECK(edge(reader) == 0 && edge(writer) == (EPOLLIN | EPOLLOUT) && edge(in) == 0);
	CHECK(shutdown(fds[1], SHUT_WR) == 0);
	CHECK(edge(reader) == (EPOLLIN | EPOLLOUT | EPOLLRDHUP) && edge(writer) == (EPOLLIN | EPOLLOUT) &&
	      edge(in) == EPOLLIN);
	close(fds[1]);
	CHECK(edge(reader) & EPOLLHUP && edge(reader) == 0 && edge(in) & EPOLLHUP);
	close(fds[0]), close(reader), close(writer), close(in);
	return true;
}

/* Each write is an edge to read, each read one to write. */
TEST(edges_of_an_eventfd, "epoll: edges of an eventfd")
{
	const uint64_t one = 1;
	uint64_t taken;
	int fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE), both = watch_edges(fd, EPOLLIN | EPOLLOUT),
	    in = watch_edges(fd, EPOLLIN);
	CHECK(edge(both) == EPOLLOUT && edge(in) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(write(fd, &one, sizeof(one)) == sizeof(one));
		CHECK(edge(both) == (EPOLLIN | EPOLLOUT) && edge(in) == EPOLLIN);
	}
	CHECK(read(fd, &taken, sizeof(taken)) == sizeof(taken) && taken == 1);
	CHECK(edge(both) == (EPOLLIN | EPOLLOUT) && edge(both) == 0 && edge(in) == 0);
	CHECK(read(fd, &taken, sizeof(taken)) == sizeof(taken) && read(fd, &taken, sizeof(taken)) == sizeof(taken));
	CHECK(edge(both) == EPOLLOUT && edge(in) == 0);
	CHECK(read(fd, &taken, sizeof(taken)) == -1 && errno == EAGAIN);
	CHECK(edge(both) == 0 && edge(in) == 0);
	const uint64_t most = UINT64_MAX - 1;
	CHECK(write(fd, &most, sizeof(most)) == sizeof(most) && edge(both) == EPOLLIN && edge(in) == EPOLLIN);
	CHECK(write(fd, &one, sizeof(one)) == -1 && errno == EAGAIN);
	CHECK(edge(both) == 0 && edge(in) == 0);
	close(fd), close(both), close(in);
	return true;
}

TEST(epoll_forgets_closed_files, "epoll forgets closed files")
{
	struct epoll_event event = { .events = EPOLLIN }, out[4];
	int fds[2], e = epoll_create1(0);

	CHECK(pipe(fds) == 0 && write(fds[1], "x", 1) == 1);
	CHECK(epoll_ctl(e, EPOLL_CTL_ADD, fds[0], &event) == 0);
	close(fds[0]);
	CHECK(epoll_wait(e, out, 4, 0) == 0);
	close(fds[1]), close(e);
	return true;
}

/* Many watched, few ready: each ready one is reported in turn, however small the room for events. */
TEST(epoll_is_fair, "epoll is fair")
{
	enum { PIPES = 60 };
	struct epoll_event out[7];
	int fds[PIPES][2], seen[PIPES] = { 0 }, e = epoll_create1(0);

	for (int i = 0; i < PIPES; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = (uint32_t)i };
		CHECK(pipe(fds[i]) == 0 && epoll_ctl(e, EPOLL_CTL_ADD, fds[i][0], &event) == 0);
		if (i % 3 == 0)
			CHECK(write(fds[i][1], "x", 1) == 1);
	}
	for (int round = 0; round < 6; round++) {
		int n = epoll_wait(e, out, 7, 0);
		CHECK(n == 7);
		for (int i = 0; i < n; i++)
			seen[out[i].data.u32]++;
	}
	for (int i = 0; i < PIPES; i++) {
		CHECK(i % 3 == 0 ? seen[i] >= 2 : seen[i] == 0);
		close(fds[i][0]), close(fds[i][1]);
	}
	close(e);
	return true;
}

TEST(epoll_wakes_for_a_thread, "epoll wakes for a thread")
{
	struct epoll_event event = { .events = EPOLLIN }, out;
	int fds[2], e = epoll_create1(0), total = 0;
	char buffer[64];
	pthread_t writer;

	CHECK(pipe(fds) == 0);
	CHECK(epoll_ctl(e, EPOLL_CTL_ADD, fds[0], &event) == 0);
	CHECK(pthread_create(&writer, 0, write_slowly, &fds[1]) == 0);
	for (;;) {
		CHECK(epoll_wait(e, &out, 1, -1) == 1);
		ssize_t n = read(fds[0], buffer, sizeof(buffer));
		if (n <= 0)
			break;
		total += (int)n;
	}
	CHECK(total == 200);
	CHECK(pthread_join(writer, 0) == 0);
	close(fds[0]), close(e);
	return true;
}

TEST(sockets_are_told_from_files, "sockets are told from files")
{
	int fd = open("/dev/null", O_RDONLY);

	CHECK(listen(fd, 1) == -1 && errno == ENOTSOCK);
	CHECK(listen(1000, 1) == -1 && errno == EBADF);
	close(fd);
	CHECK(socket(AF_APPLETALK, SOCK_STREAM, 0) == -1 && errno == EAFNOSUPPORT);
	CHECK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) == -1 && errno == EAFNOSUPPORT);
	return true;
}

TEST(eventfd_counts, "eventfd counts")
{
	uint64_t value = 5;
	int fd = eventfd(3, EFD_NONBLOCK), semaphore = eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE);

	CHECK(fd >= 0 && semaphore >= 0 && eventfd(0, 1 << 20) == -1 && errno == EINVAL);
	CHECK(write(fd, &value, 8) == 8 && read(fd, &value, 8) == 8 && value == 8);
	CHECK(read(fd, &value, 8) == -1 && errno == EAGAIN);
	CHECK(read(fd, &value, 7) == -1 && errno == EINVAL && write(fd, &value, 7) == -1 && errno == EINVAL);
	CHECK(read(semaphore, &value, 8) == 8 && value == 1 && read(semaphore, &value, 8) == 8 && value == 1);
	CHECK(read(semaphore, &value, 8) == -1 && errno == EAGAIN);
	struct pollfd polled = { .fd = fd, .events = POLLIN | POLLOUT };
	CHECK(poll(&polled, 1, 0) == 1 && polled.revents == POLLOUT);
	value = UINT64_MAX;
	CHECK(write(fd, &value, 8) == -1 && errno == EINVAL);
	value = UINT64_MAX - 1;
	CHECK(write(fd, &value, 8) == 8 && poll(&polled, 1, 0) == 1 && polled.revents == POLLIN);
	value = 1;
	CHECK(write(fd, &value, 8) == -1 && errno == EAGAIN);
	CHECK(read(fd, &value, 8) == 8 && value == UINT64_MAX - 1);
	CHECK(poll(&polled, 1, 0) == 1 && polled.revents == POLLOUT);
	CHECK(close(fd) == 0 && close(semaphore) == 0);
	return true;
}

static void *add_to_event(void *argument)
{
	const uint64_t most = UINT64_MAX - 1;
	int fd = *(int *)argument;

	for (int i = 0; i < 3; i++)
		if (write(fd, &most, 8) != 8) /* from the second on: waits for a read */
			return argument;
	return 0;
}

/* A write of more than a number adds the first, and does not wait to write the rest. */
TEST(eventfd_takes_one_number, "eventfd takes one number of a write")
{
	uint64_t numbers[] = { 5, 6, 7 }, value;
	const struct iovec two[] = { { &numbers[0], 8 }, { &numbers[1], 16 } };
	int fd = eventfd(0, 0);

	CHECK(fd >= 0 && write(fd, numbers, sizeof(numbers)) == 8 && read(fd, &value, 8) == 8 && value == 5);
	CHECK(writev(fd, two, 2) == 16 && read(fd, &value, 8) == 8 && value == 11);
	CHECK(close(fd) == 0);
	return true;
}

static void *add_more_to_event(void *argument)
{
	const uint64_t most[] = { UINT64_MAX - 1, 9 };
	int fd = *(int *)argument;

	for (int i = 0; i < 3; i++)
		if (write(fd, most, sizeof(most)) != 8)
			return argument;
	return 0;
}

static bool eventfd_waits_with(void *(*add)(void *))
{
	int fd = eventfd(0, 0);
	pthread_t writer;
	void *result;
	uint64_t value = 0;

	CHECK(fd >= 0 && pthread_create(&writer, 0, add, &fd) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(read(fd, &value, 8) == 8 && value == UINT64_MAX - 1);
	CHECK(pthread_join(writer, &result) == 0 && !result && close(fd) == 0);
	return true;
}

TEST(eventfd_waits, "eventfd waits for a reader and a writer")
{
	return eventfd_waits_with(add_to_event) && eventfd_waits_with(add_more_to_event);
}
