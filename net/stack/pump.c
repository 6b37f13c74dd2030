/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes between lwIP and the shared buffers, straight from one to the other. A socket is pumped when a message of the
 * program names it or lwIP reports it ready, and then until neither side can take more.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <skerry/require.h>
#include "serve.h"

enum { MASK = SOCKET_PORT_BUFFER - 1, TAKEN_TOLD = SOCKET_PORT_BUFFER / 2 };

static void served_broken(struct served *s, ssize_t error)
{
	s->flags |= SOCKET_BROKEN;
	s->value = error == -EPIPE ? 0 : (int32_t)error; /* to a writer only, which gets it without a message */
	s->taken = s->written;
	served_changed(s);
}

/* Bytes from `position` on that lie in one piece, at most `size`. */
static size_t piece_size(uint32_t position, uint32_t size)
{
	uint32_t first = SOCKET_PORT_BUFFER - (position & MASK);

	require(size && size <= SOCKET_PORT_BUFFER);
	return size < first ? size : first;
}

static void pump_out(struct served *s)
{
	const char *buffer = served_buffer(s, SOCKET_SIDE_PROGRAM);

	while (s->taken != s->written && !(s->flags & SOCKET_BROKEN)) {
		ssize_t n = s->file->ops->write(s->file, buffer + (s->taken & MASK),
		                                piece_size(s->taken, s->written - s->taken));

		if (n == -EAGAIN)
			break;
		if (n < 0)
			return served_broken(s, n);
		s->taken += (uint32_t)n;
		require(s->written - s->taken <= SOCKET_PORT_BUFFER);
	}
	if (s->taken - s->taken_told >= TAKEN_TOLD)
		served_changed(s);
	if (s->taken == s->written && s->shut_wanted && !s->shut_done) {
		s->shut_done = true;
		s->file->ops->shutdown(s->file, SHUT_WR);
	}
}

static void pump_in(struct served *s)
{
	char *buffer = served_buffer(s, SOCKET_SIDE_STACK);
	uint32_t room;

	while (!(s->flags & (SOCKET_ENDED | SOCKET_BROKEN)) && (room = SOCKET_PORT_BUFFER - (s->arrived - s->read))) {
		ssize_t n = s->file->ops->read(s->file, buffer + (s->arrived & MASK), piece_size(s->arrived, room));

		if (n == -EAGAIN)
			return;
		if (n < 0)
			return served_broken(s, n);
		s->arrived += (uint32_t)n;
		require(s->arrived - s->read <= SOCKET_PORT_BUFFER);
		if (!n)
			s->flags |= SOCKET_ENDED;
		served_changed(s);
	}
}

static int pending_error(struct file *file)
{
	int error = 0;
	socklen_t size = sizeof(error);

	file->ops->getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size);
	return -error;
}

static void served_connected(struct served *s)
{
	struct sockaddr name;
	socklen_t length = sizeof(name);

	if (!(s->file->ready & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	require(s->connecting);
	s->connecting = false;
	if (s->file->ready & (EPOLLERR | EPOLLHUP))
		return served_broken(s, pending_error(s->file));
	s->file->ops->getsockname(s->file, &name, &length);
	address_take(&name, length, &s->local);
	s->flags |= SOCKET_CONNECTED;
	served_changed(s);
}

static void served_end(struct served *s)
{
	const struct linger reset = { .l_onoff = 1 };
	struct file *file = s->file;

	if (s->unread)
		file->ops->setsockopt(file, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	require(s->closing && !(s->flags & SOCKET_CLOSED));
	s->file = NULL;
	s->flags |= SOCKET_CLOSED;
	served_changed(s);
	file->ops->close(file);
}

void served_pump(struct served *s)
{
	uint32_t acceptable;

	if (!s->file)
		return;
	if (s->listening) {
		acceptable = s->file->ready & EPOLLIN ? SOCKET_ACCEPTABLE : 0;
		if (acceptable != s->flags || s->value != s->value_told)
			served_changed(s);
		s->flags = acceptable;
	} else if (s->connecting) {
		served_connected(s);
	}
	if (s->flags & SOCKET_CONNECTED) {
		pump_out(s);
		if (!s->closing)
			pump_in(s);
	}
	if (s->closing && (s->taken == s->written || !(s->flags & SOCKET_CONNECTED || s->connecting)))
		served_end(s); /* data that a program has written to a listener is never taken */
}
