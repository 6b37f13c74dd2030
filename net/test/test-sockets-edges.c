/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Edge-triggered epoll of sockets: more data, connections and ends are events, also where the socket is ready already.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include "client.h"
#include "server.h"
#include "test-sockets.h"
#include "test.h"

#ifndef EDGES_TIMEOUT
#define EDGES_TIMEOUT 60000 /* ms */
#endif

enum { PORT = 7100, MOMENT = 50, ALL = EPOLLIN | EPOLLOUT | EPOLLRDHUP };

/* Waits for an edge. */
static uint32_t comes(const struct file *file)
{
	const uint64_t deadline = layer_in(EDGES_TIMEOUT);
	uint32_t events;

	while (!(events = file_watched(file)) && layer_wait(deadline))
		;
	settle(MOMENT); /* what is the same edge on Linux may come in two parts */
	return events | file_watched(file);
}

static bool nothing(const struct file *file)
{
	settle(MOMENT);
	return !file_watched(file);
}

static void ask(struct file *file, uint32_t size)
{
	char bytes[64] = { 0 };

	request(file, REQUEST_ECHO, size);
	CHECK(write_all(file, bytes, size) == (ssize_t)size);
}

static void take(struct file *file, size_t size)
{
	char bytes[64];

	CHECK(read_all(file, bytes, size) == (ssize_t)size);
}

static void data(void)
{
	struct file *file = connect_server();

	file_watch(file, ALL);
	CHECK(comes(file) == EPOLLOUT && nothing(file));
	ask(file, 10);
	CHECK(comes(file) == (EPOLLIN | EPOLLOUT) && nothing(file));
	take(file, 1);
	CHECK(nothing(file));
	for (unsigned i = 0; i < 3; i++) {
		ask(file, 10);
		CHECK(comes(file) == (EPOLLIN | EPOLLOUT) && nothing(file));
	}
	take(file, 39);
	CHECK(nothing(file));
	ask(file, 1);
	CHECK(comes(file) == (EPOLLIN | EPOLLOUT));
	request(file, REQUEST_LEAVE, 0);
	CHECK(comes(file) == (EPOLLIN | EPOLLOUT | EPOLLRDHUP));
	take(file, 1);
	CHECK(nothing(file));
	CHECK(!file->ops->shutdown(file, SHUT_WR));
	CHECK(comes(file) & EPOLLHUP);
	close_file(file);
}

/* A watcher of one direction. */
static void one_way(uint32_t events)
{
	struct file *file = connect_server();

	settle(MOMENT);
	file_watch(file, events);
	CHECK(file_watched(file) == (events & EPOLLOUT));
	for (unsigned i = 0; i < 2; i++) {
		ask(file, 10);
		CHECK(events & EPOLLIN ? comes(file) == EPOLLIN : nothing(file));
	}
	request(file, REQUEST_LEAVE, 0);
	CHECK(comes(file) == events); /* an end is told to all */
	take(file, 20);
	CHECK(nothing(file));
	close_file(file);
}

static void room(void)
{
	static char bytes[65536];
	struct file *file = connect_server();
	size_t written = 0, taken = 0;
	ssize_t n;

	request(file, REQUEST_ECHO, UINT32_MAX);
	file_watch(file, ALL);
	CHECK(comes(file) == EPOLLOUT);
	/* until neither end's buffers, nor the echo's, take more */
	for (unsigned rounds = 0; rounds < 3; written += n > 0 ? (size_t)n : 0) {
		n = file->ops->write(file, bytes, sizeof(bytes));
		if (n > 0)
			continue;
		CHECK(n == -EAGAIN);
		if (!(comes(file) & EPOLLOUT))
			break;
		rounds++;
	}
	while (taken < written && (n = read_some(file, bytes, sizeof(bytes))) > 0)
		taken += (size_t)n;
	CHECK(taken == written);
	close_file(file);
}

static void listening(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct file *listener, *caller[4], *file;
	int error;

	CHECK(!socket_create(AF_INET, SOCK_STREAM, 0, &listener));
	CHECK(!listener->ops->bind(listener, (struct sockaddr *)&at, sizeof(at)) &&
	      !listener->ops->listen(listener, 8));
	file_watch(listener, EPOLLIN);
	CHECK(nothing(listener));
	for (unsigned i = 0; i < 3; i++) {
		CHECK((caller[i] = connect_to(layer_address(own_port), PORT, &error)));
		CHECK(comes(listener) == EPOLLIN && nothing(listener));
	}
	CHECK(!listener->ops->accept(listener, &file, NULL, NULL));
	close_file(file);
	CHECK(nothing(listener));
	CHECK((caller[3] = connect_to(layer_address(own_port), PORT, &error)) && comes(listener) == EPOLLIN);
	for (unsigned i = 0; i < 3; i++) {
		CHECK(!listener->ops->accept(listener, &file, NULL, NULL));
		close_file(file);
	}
	CHECK(nothing(listener) && listener->ops->accept(listener, &file, NULL, NULL) == -EAGAIN);
	for (unsigned i = 0; i < 4; i++)
		close_file(caller[i]);
	close_file(listener);
}

static void connecting(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(SERVER_PORT),
	                          .sin_addr.s_addr = layer_address(0) };
	struct file *file;

	for (unsigned i = 0; i < 2; i++) {
		CHECK(!socket_create(AF_INET, SOCK_STREAM, 0, &file));
		file_watch(file, ALL);
		CHECK(comes(file) == (EPOLLOUT | EPOLLHUP));
		CHECK(file->ops->connect(file, (struct sockaddr *)&to, sizeof(to)) == -EINPROGRESS);
		CHECK(comes(file) == (i ? EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | EPOLLERR : EPOLLOUT));
		CHECK(nothing(file));
		to.sin_port = htons(1); /* refuses */
		close_file(file);
	}
}

void edges(void)
{
	data();
	one_way(EPOLLIN);
	one_way(EPOLLOUT);
	room();
	listening();
	connecting();
}

void datagram_edges(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT),
	                          .sin_addr.s_addr = layer_address(own_port) };
	struct file *file;
	char bytes[8] = { 0 };

	CHECK(!socket_create(AF_INET, SOCK_DGRAM, 0, &file) &&
	      !file->ops->bind(file, (struct sockaddr *)&to, sizeof(to)));
	CHECK(!file->ops->connect(file, (struct sockaddr *)&to, sizeof(to)));
	file_watch(file, ALL);
	CHECK(comes(file) == EPOLLOUT && nothing(file));
	for (unsigned i = 0; i < 3; i++) {
		CHECK(file->ops->write(file, bytes, 8) == 8);
		CHECK(comes(file) == (EPOLLIN | EPOLLOUT) && nothing(file));
	}
	CHECK(file->ops->read(file, bytes, 8) == 8 && nothing(file));
	CHECK(file->ops->write(file, bytes, 8) == 8 && comes(file) == (EPOLLIN | EPOLLOUT));
	for (unsigned i = 0; i < 3; i++)
		CHECK(file->ops->read(file, bytes, 8) == 8);
	CHECK(nothing(file) && file->ops->read(file, bytes, 8) == -EAGAIN);
	close_file(file);
}
