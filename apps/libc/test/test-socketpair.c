/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include "posixtest.h"

TEST(carries_both_ways, "a pair of sockets carries bytes both ways")
{
	char buffer[8];
	struct stat st;
	int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
	CHECK(read(fds[0], buffer, 1) == -1 && errno == EAGAIN);
	CHECK(write(fds[0], "to 1", 4) == 4 && write(fds[1], "to 0!", 5) == 5);
	CHECK(recv(fds[1], buffer, 8, MSG_PEEK) == 4 && !memcmp(buffer, "to 1", 4));
	CHECK(read(fds[1], buffer, 8) == 4 && !memcmp(buffer, "to 1", 4));
	CHECK(read(fds[0], buffer, 2) == 2 && recv(fds[0], buffer + 2, 6, 0) == 3 && !memcmp(buffer, "to 0!", 5));
	CHECK(fstat(fds[0], &st) == 0 && S_ISSOCK(st.st_mode));
	close(fds[0]), close(fds[1]);
	return true;
}

/* More than its room holds, so that the ring's end is passed, in pieces that do not divide it. */
TEST(keeps_order, "a pair of sockets keeps the order")
{
	static char sent[40000], got[40000];
	size_t in = 0, out = 0;
	int fds[2];

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (char)(i * 7 ^ i >> 8);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
	while (out < sizeof(got)) {
		ssize_t n = in < sizeof(sent) ? send(fds[0], sent + in, sizeof(sent) - in, MSG_NOSIGNAL) : 0;
		CHECK(n >= 0 || errno == EAGAIN);
		in += n > 0 ? (size_t)n : 0;
		n = recv(fds[1], got + out, out + 5000 < sizeof(got) ? 5000 : sizeof(got) - out, 0);
		CHECK(n > 0);
		out += (size_t)n;
	}
	CHECK(!memcmp(sent, got, sizeof(sent)));
	close(fds[0]), close(fds[1]);
	return true;
}

TEST(ends, "each direction of a pair of sockets ends")
{
	char c;
	int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	struct pollfd p = { .fd = fds[1], .events = POLLIN | POLLOUT | POLLRDHUP };
	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLOUT);
	CHECK(write(fds[0], "x", 1) == 1 && shutdown(fds[0], SHUT_WR) == 0);
	CHECK(write(fds[0], "x", 1) == -1 && errno == EPIPE);
	CHECK(poll(&p, 1, 0) == 1 && p.revents == (POLLIN | POLLOUT | POLLRDHUP));
	CHECK(read(fds[1], &c, 1) == 1 && read(fds[1], &c, 1) == 0);
	CHECK(write(fds[1], "y", 1) == 1); /* the other way is open */
	CHECK(read(fds[0], &c, 1) == 1 && c == 'y');
	close(fds[0]);
	CHECK(poll(&p, 1, 0) == 1 && p.revents & POLLHUP);
	CHECK(send(fds[1], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
	CHECK(shutdown(fds[1], 7) == -1 && errno == EINVAL);
	close(fds[1]);
	return true;
}

/* Bytes that were written before the other end closed are still there. */
TEST(close_keeps_what_was_written, "closing a socket of a pair keeps what was written")
{
	char buffer[4];
	int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && write(fds[0], "abc", 3) == 3);
	close(fds[0]);
	CHECK(read(fds[1], buffer, 4) == 3 && read(fds[1], buffer, 4) == 0);
	close(fds[1]);
	return true;
}

static void *echo(void *argument)
{
	const int fd = *(int *)argument;
	char buffer[1000];
	ssize_t n;

	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		if (write(fd, buffer, (size_t)n) != n)
			return argument;
	close(fd);
	return 0;
}

TEST(waits_for_a_thread, "a pair of sockets waits for a thread")
{
	static char sent[3000], got[3000];
	void *result;
	pthread_t thread;
	int fds[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
	CHECK(pthread_create(&thread, 0, echo, &fds[1]) == 0);
	for (int round = 0; round < 50; round++) {
		memset(sent, round, sizeof(sent));
		CHECK(write(fds[0], sent, sizeof(sent)) == sizeof(sent));
		for (size_t done = 0; done < sizeof(got);) {
			ssize_t n = read(fds[0], got + done, sizeof(got) - done);
			CHECK(n > 0);
			done += (size_t)n;
		}
		CHECK(!memcmp(sent, got, sizeof(got)));
	}
	CHECK(shutdown(fds[0], SHUT_WR) == 0 && read(fds[0], got, 1) == 0);
	CHECK(pthread_join(thread, &result) == 0 && !result);
	close(fds[0]);
	return true;
}

TEST(says_what_it_is, "a pair of sockets says what it is")
{
	struct sockaddr_storage name;
	socklen_t length = sizeof(name), size = sizeof(int);
	int fds[2], number = -1;

	CHECK(socketpair(AF_INET, SOCK_STREAM, 0, fds) == -1 && errno == EOPNOTSUPP);
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) == -1 && errno == ESOCKTNOSUPPORT);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	CHECK(getsockname(fds[0], (struct sockaddr *)&name, &length) == 0 && name.ss_family == AF_UNIX &&
	      length == sizeof(sa_family_t));
	CHECK(getsockopt(fds[0], SOL_SOCKET, SO_TYPE, &number, &size) == 0 && number == SOCK_STREAM &&
	      size == sizeof(int));
	CHECK(getsockopt(fds[0], SOL_SOCKET, SO_ERROR, &number, &size) == 0 && number == 0);
	CHECK(connect(fds[0], (struct sockaddr *)&name, length) == -1 && errno == EISCONN);
	CHECK(listen(fds[0], 1) == -1 && errno == EINVAL && accept(fds[0], 0, 0) == -1 && errno == EINVAL);
	close(fds[0]);
	length = sizeof(name);
	CHECK(getpeername(fds[1], (struct sockaddr *)&name, &length) == -1 && errno == ENOTCONN);
	close(fds[1]);
	return true;
}

static void *closes_later(void *fd)
{
	usleep(20000);
	close((int)(intptr_t)fd);
	return NULL;
}

/* read() and recv() that find nothing: at a timeout, at the peer's end, at once. */
TEST(reads_end, "reading of a pair of sockets ends")
{
	const struct timeval soon = { .tv_usec = 20000 }, never = { 0 };
	pthread_t thread;
	char c;

	for (int receives = 0; receives < 2; receives++) {
		int fds[2];

		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
		CHECK(recv(fds[0], &c, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
		CHECK(setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)) == 0);
		errno = 0;
		CHECK((receives ? recv(fds[0], &c, 1, 0) : read(fds[0], &c, 1)) == -1 && errno == EAGAIN);
		CHECK(setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &never, sizeof(never)) == 0);
		CHECK(pthread_create(&thread, NULL, closes_later, (void *)(intptr_t)fds[1]) == 0);
		CHECK((receives ? recv(fds[0], &c, 1, MSG_NOSIGNAL) : read(fds[0], &c, 1)) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
		CHECK(recv(fds[0], &c, 1, 0) == 0);
		close(fds[0]);
	}
	return true;
}

/* Returns the number of readable bytes by ioctl(), or the error, negative. */
static int readable(int fd)
{
	int bytes = -1;

	return ioctl(fd, FIONREAD, &bytes) == 0 ? bytes : -errno;
}

/* The bytes that have come soon: those of a network are under way. */
static int readable_soon(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	poll(&p, 1, 10000);
	return readable(fd);
}

TEST(sockets_tell_what_can_be_read, "sockets tell how much can be read")
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	char buffer[8];
	int listener = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0), in,
	    datagrams = socket(AF_INET, SOCK_DGRAM, 0);

	if (listener < 0) /* posixtest has no network in the machine, and its host has one */
		return true;
	CHECK(bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener, 1) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&at, &length) == 0 &&
	      connect(out, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK((in = accept(listener, 0, 0)) >= 0 && readable(listener) == -EINVAL && readable(in) == 0);
	CHECK(write(out, "hello", 5) == 5 && readable_soon(in) == 5 && read(in, buffer, 2) == 2 && readable(in) == 3 &&
	      readable(out) == 0);
	CHECK(close(out) == 0 && readable_soon(in) == 3 && read(in, buffer, 8) == 3 && readable_soon(in) == 0);
	at.sin_port = 0;
	CHECK(bind(datagrams, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	      getsockname(datagrams, (struct sockaddr *)&at, &length) == 0);
	CHECK(sendto(datagrams, "four", 4, 0, (struct sockaddr *)&at, sizeof(at)) == 4);
	CHECK(sendto(datagrams, "more", 3, 0, (struct sockaddr *)&at, sizeof(at)) == 3);
	CHECK(readable_soon(datagrams) == 4 && recv(datagrams, buffer, 8, 0) == 4 && readable_soon(datagrams) == 3);
	close(listener), close(in), close(datagrams);
	return true;
}

TEST(files_tell_what_can_be_read, "pipes and files tell how much can be read")
{
	char buffer[8];
	int fds[2];

	CHECK(pipe(fds) == 0 && readable(fds[0]) == 0 && write(fds[1], "12345", 5) == 5 && readable(fds[0]) == 5 &&
	      readable(fds[1]) == 5);
	CHECK(read(fds[0], buffer, 2) == 2 && readable(fds[0]) == 3 && ioctl(fds[0], TIOCGWINSZ, buffer) == -1 &&
	      errno == ENOTTY);
	close(fds[0]), close(fds[1]);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && write(fds[1], "1234", 4) == 4 && readable(fds[0]) == 4 &&
	      readable(fds[1]) == 0);
	CHECK(shutdown(fds[0], SHUT_RD) == 0 && readable(fds[0]) == 0);
	close(fds[0]), close(fds[1]);
	CHECK((fds[0] = open("counted", O_RDWR | O_CREAT, 0600)) >= 0 && write(fds[0], "123456", 6) == 6 &&
	      readable(fds[0]) == 0);
	CHECK(lseek(fds[0], 2, SEEK_SET) == 2 && readable(fds[0]) == 4 && close(fds[0]) == 0 && unlink("counted") == 0);
	CHECK((fds[0] = eventfd(1, 0)) >= 0 && readable(fds[0]) == -ENOTTY && close(fds[0]) == 0 &&
	      readable(fds[0]) == -EBADF);
	return true;
}
