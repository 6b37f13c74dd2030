/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an edge-triggered epoll tells of sockets of loopback: a line for each step, the same on Linux. A step in which
 * something must come waits for it; a step in which nothing must come waits for a moment only.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONG_MS = 20000, MOMENT_MS = 200, ALL = EPOLLIN | EPOLLOUT | EPOLLRDHUP };

static struct sockaddr_in address = { .sin_family = AF_INET };
static int listener, epoll;

static void must(bool good, const char *what)
{
	if (good)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void watch(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events | EPOLLET, .data.fd = fd };

	must(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void print(const char *step, uint32_t events)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = { { EPOLLIN, " in" }, { EPOLLOUT, " out" }, { EPOLLRDHUP, " rdhup" }, { EPOLLHUP, " hup" },
	              { EPOLLERR, " err" } };

	printf("%s:", step);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (events & names[i].bit)
			printf("%s", names[i].name);
	printf("%s\n", events ? "" : " nothing");
}

/* All that comes of one file, until nothing more does. */
static void comes(const char *step)
{
	struct epoll_event event;
	uint32_t all = 0;

	for (int wait = LONG_MS; epoll_wait(epoll, &event, 1, wait) == 1; wait = MOMENT_MS)
		all |= event.events;
	print(step, all);
}

static void nothing(const char *step)
{
	struct epoll_event event = { 0 };

	print(step, epoll_wait(epoll, &event, 1, MOMENT_MS) == 1 ? event.events : 0);
}

static void begin(void)
{
	close(epoll);
	epoll = epoll_create1(0);
	must(epoll >= 0, "epoll_create1");
}

static int caller(bool blocks)
{
	int fd = socket(AF_INET, SOCK_STREAM | (blocks ? 0 : SOCK_NONBLOCK), 0);

	must(fd >= 0, "socket");
	if (blocks)
		must(!connect(fd, (struct sockaddr *)&address, sizeof(address)), "connect");
	return fd;
}

static void pair(int fd[2])
{
	fd[0] = caller(true);
	fd[1] = accept(listener, NULL, NULL);
	must(fd[1] >= 0, "accept");
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
}

static void put(int fd, const char *text) { must(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write"); }

static void get(int fd, size_t size)
{
	char bytes[64];

	must(read(fd, bytes, size) == (ssize_t)size, "read");
}

static void data(uint32_t events, const char *name)
{
	int fd[2];

	printf("-- data for a watcher of %s\n", name);
	begin();
	pair(fd);
	watch(fd[1], events);
	events & EPOLLOUT ? comes("added") : nothing("added");
	put(fd[0], "0123456789");
	events & EPOLLIN ? comes("ten bytes") : nothing("ten bytes");
	nothing("nothing more");
	get(fd[1], 1);
	nothing("one read");
	put(fd[0], "abcdefghij");
	events & EPOLLIN ? comes("ten more") : nothing("ten more");
	get(fd[1], 19);
	nothing("all read");
	put(fd[0], "x");
	events & EPOLLIN ? comes("one more") : nothing("one more");
	shutdown(fd[0], SHUT_WR);
	comes("its end behind it");
	get(fd[1], 1);
	nothing("that one read");
	close(fd[1]), close(fd[0]);
}

static void ends(void)
{
	const struct linger hard = { 1, 0 };
	int fd[2];

	puts("-- ends");
	begin();
	pair(fd);
	watch(fd[1], ALL);
	comes("added");
	put(fd[0], "x");
	comes("a byte");
	setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd[0]);
	comes("a reset behind it");
	close(fd[1]);
	pair(fd);
	watch(fd[1], ALL);
	comes("added");
	shutdown(fd[1], SHUT_RD);
	comes("shut to read");
	shutdown(fd[1], SHUT_WR);
	comes("shut to write");
	close(fd[1]), close(fd[0]);
}

static void room(void)
{
	static char bytes[65536];
	size_t written = 0, taken = 0;
	ssize_t n;
	int fd[2];

	puts("-- room");
	begin();
	pair(fd);
	watch(fd[1], EPOLLOUT);
	comes("added");
	do {
		while ((n = write(fd[1], bytes, sizeof(bytes))) > 0)
			written += (size_t)n;
		usleep(MOMENT_MS * 1000);
		n = write(fd[1], bytes, sizeof(bytes));
		written += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	must(n < 0 && errno == EAGAIN, "write");
	nothing("all room taken");
	while (taken < written && (n = read(fd[0], bytes, sizeof(bytes))) > 0)
		taken += (size_t)n;
	comes("all read");
	close(fd[1]), close(fd[0]);
}

static void listening(void)
{
	int fd[3];

	puts("-- a listener");
	begin();
	watch(listener, EPOLLIN);
	nothing("added");
	fd[0] = caller(true);
	comes("a connection");
	fd[1] = caller(true);
	comes("a second one before it is accepted");
	close(accept(listener, NULL, NULL));
	nothing("one accepted");
	fd[2] = caller(true);
	comes("a third one");
	close(accept(listener, NULL, NULL));
	close(accept(listener, NULL, NULL));
	nothing("all accepted");
	close(fd[0]), close(fd[1]);
	fd[0] = caller(true);
	comes("a fourth one");
	close(accept(listener, NULL, NULL));
	close(fd[0]), close(fd[2]);
}

static void connecting(void)
{
	struct sockaddr_in nobody = address;
	int fd = caller(false);

	puts("-- connecting");
	begin();
	watch(fd, ALL);
	comes("added");
	must(connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1 && errno == EINPROGRESS, "connect");
	comes("connected");
	nothing("nothing more");
	close(fd);
	close(accept(listener, NULL, NULL));
	nobody.sin_port = htons(1);
	fd = caller(false);
	watch(fd, ALL);
	comes("added");
	connect(fd, (struct sockaddr *)&nobody, sizeof(nobody));
	comes("refused");
	close(fd);
}

static void datagrams(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(to);
	int from = socket(AF_INET, SOCK_DGRAM, 0), fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	puts("-- datagrams");
	if (from < 0 || fd < 0) {
		puts("there are none");
		return;
	}
	begin();
	must(!bind(fd, (struct sockaddr *)&to, sizeof(to)) && !getsockname(fd, (struct sockaddr *)&to, &length),
	     "bind");
	must(!connect(from, (struct sockaddr *)&to, length), "connect");
	watch(fd, EPOLLIN);
	nothing("added");
	put(from, "first");
	comes("one");
	put(from, "second");
	comes("a second one before it is read");
	get(fd, 5);
	nothing("one read");
	put(from, "third");
	comes("a third one");
	close(fd), close(from);
}

int main(void)
{
	socklen_t length = sizeof(address);

	setvbuf(stdout, NULL, _IOLBF, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	must(!bind(listener, (struct sockaddr *)&address, sizeof(address)) && !listen(listener, 8), "listen");
	must(!getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
	epoll = epoll_create1(0);
	data(EPOLLIN, "in");
	data(EPOLLOUT, "out");
	data(ALL, "all");
	ends();
	room();
	listening();
	connecting();
	datagrams();
	puts("-- that was all");
	return 0;
}
