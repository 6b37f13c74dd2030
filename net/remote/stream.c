/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection's data, in the two buffers that the stack sees as well. */
#include <errno.h>
#include <skerry/require.h>
#include "../copy.h"
#include "../net.h"
#include "remote.h"

enum {
	MASK = SOCKET_PORT_BUFFER - 1,
	WRITE_LOW = SOCKET_PORT_BUFFER / 4, /* writable with this much room */
	READ_TOLD = SOCKET_PORT_BUFFER / 2, /* so much room is reported to the stack at once */
};

static uint32_t send_room(const struct remote_socket *socket)
{
	require(socket->written - socket->taken <= SOCKET_PORT_BUFFER);
	return SOCKET_PORT_BUFFER - (socket->written - socket->taken);
}

bool remote_writable(const struct remote_socket *socket) { return send_room(socket) >= WRITE_LOW; }

/* --- writing --- */

/* Returns the error with which a write has to fail now, or 0. -EAGAIN: it has to wait. */
static int write_obstacle(struct remote_socket *socket)
{
	switch (socket->state) {
	case REMOTE_NEW: case REMOTE_LISTENING: return -ENOTCONN;
	case REMOTE_CONNECTING: return -EAGAIN;
	default: break;
	}
	if (socket->error)
		return remote_take_error(socket);
	return socket->write_shut || socket->state == REMOTE_FAILED ? -EPIPE : 0;
}

/* `more` says nothing new: all waits for the next poll anyway. */
static ssize_t write_bytes(void *connection, const char *bytes, size_t size, bool more)
{
	struct remote_socket *socket = connection;
	char *buffer = remote_buffer(socket, SOCKET_SIDE_PROGRAM);
	size_t done = size < send_room(socket) ? size : send_room(socket);
	size_t at = socket->written & MASK, first = SOCKET_PORT_BUFFER - at;

	(void)more;
	if (first > done)
		first = done;
	copy_bytes(buffer + at, bytes, first);
	copy_bytes(buffer, bytes + first, done - first);
	socket->written += (uint32_t)done;
	require(socket->written - socket->taken <= SOCKET_PORT_BUFFER);
	if (done)
		remote_changed(socket);
	remote_update(socket);
	return done || !size ? (ssize_t)done : -EAGAIN;
}

ssize_t remote_write(struct file *file, const void *buffer, size_t size)
{
	struct remote_socket *socket = remote_of(file);
	int obstacle = write_obstacle(socket);

	return obstacle ? obstacle : write_bytes(socket, buffer, size, false);
}

ssize_t remote_send(struct file *file, const struct msghdr *message, int flags)
{
	struct remote_socket *socket = remote_of(file);
	int obstacle = message_refused(message, flags, socket->state == REMOTE_CONNECTED);

	if (!obstacle)
		obstacle = write_obstacle(socket);
	return obstacle ? obstacle : message_write(message, write_bytes, socket, flags & MSG_MORE);
}

/* --- reading --- */

/* Copies from `skip` bytes behind the first unread one on; `bytes` null: only counts. */
static size_t copy_out(const struct remote_socket *socket, char *bytes, size_t size, size_t skip)
{
	const char *buffer = remote_buffer(socket, SOCKET_SIDE_STACK);
	size_t held = socket->arrived - socket->read;
	size_t at = (socket->read + skip) & MASK, first = SOCKET_PORT_BUFFER - at;

	held = held > skip ? held - skip : 0;
	if (size > held)
		size = held;
	if (first > size)
		first = size;
	if (bytes) {
		copy_bytes(bytes, buffer + at, first);
		copy_bytes(bytes + first, buffer, size - first);
	}
	return size;
}

static void consume_received(struct remote_socket *socket, size_t size)
{
	require(size <= socket->arrived - socket->read);
	socket->read += (uint32_t)size;
	if (socket->read - socket->read_told >= READ_TOLD)
		remote_changed(socket);
	if (socket->read == socket->arrived)
		remote_update(socket);
}

void remote_discard(struct remote_socket *socket) { consume_received(socket, socket->arrived - socket->read); }

/* The answer to a read where no data is: 0 at the end, or negative. */
static int nothing_to_read(struct remote_socket *socket)
{
	if (socket->state == REMOTE_NEW || socket->state == REMOTE_LISTENING)
		return -ENOTCONN;
	if (socket->state == REMOTE_CONNECTING)
		return -EAGAIN;
	if (socket->error)
		return remote_take_error(socket);
	return socket->state == REMOTE_FAILED || socket->peer_closed || socket->read_shut ? 0 : -EAGAIN;
}

ssize_t remote_read(struct file *file, void *buffer, size_t size)
{
	struct remote_socket *socket = remote_of(file);
	size_t done;

	if (socket->arrived == socket->read)
		return nothing_to_read(socket);
	done = copy_out(socket, buffer, size, 0);
	consume_received(socket, done);
	return (ssize_t)done;
}

ssize_t remote_receive(struct file *file, struct msghdr *message, int flags)
{
	struct remote_socket *socket = remote_of(file);
	int error = message_begin(message, flags);
	size_t total = 0;

	if (error)
		return error;
	if (socket->arrived == socket->read)
		return nothing_to_read(socket);
	for (size_t i = 0; i < (size_t)message->msg_iovlen; i++) {
		const struct iovec *iov = &message->msg_iov[i];

		total += copy_out(socket, flags & MSG_TRUNC ? NULL : iov->iov_base, iov->iov_len, total);
	}
	if (!(flags & MSG_PEEK))
		consume_received(socket, total);
	return (ssize_t)total;
}

/* --- ends --- */

int remote_shutdown(struct file *file, int how)
{
	struct remote_socket *socket = remote_of(file);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	if (socket->state != REMOTE_CONNECTED)
		return -ENOTCONN;
	if (how != SHUT_WR) {
		socket->read_shut = true;
		remote_discard(socket);
	}
	if (how != SHUT_RD && !socket->write_shut) {
		socket->write_shut = true;
		remote_changed(socket);
	}
	remote_update_again(socket, REMOTE_ALL);
	return 0;
}
