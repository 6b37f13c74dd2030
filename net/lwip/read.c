/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection's data: reading what has been received. */
#include <errno.h>
#include <lwip/tcp.h>
#include <skerry/require.h>
#include "../net.h"
#include "received.h"
#include "share.h"

static __attribute__((noinline)) size_t read_several(struct socket *socket, char *bytes, size_t size, bool truncate)
{
	size_t done = 0;

	while (done < size && socket->first) {
		size_t part = socket->first->len - socket->offset;

		require(socket->offset < socket->first->len);
		if (part > size - done)
			part = size - done;
		if (!truncate)
			copy_bytes(bytes + done, (char *)socket->first->payload + socket->offset, part);
		done += part;
		socket->offset += (uint32_t)part;
		if (socket->offset == socket->first->len)
			socket_drop_first(socket);
	}
	return done;
}

/* There is something. Nearly always it is one packet, for all of which there is room. */
static inline size_t read_bytes(struct socket *socket, char *bytes, size_t size)
{
	struct pbuf *packet = socket->first;
	const size_t length = packet->len - socket->offset;

	require(socket->offset < packet->len);
	if (packet->next || length > size)
		return read_several(socket, bytes, size, false);
	copy_bytes(bytes, (char *)packet->payload + socket->offset, length);
	socket->first = NULL;
	socket->offset = 0;
	pbuf_free(packet);
	return length;
}

/* Copies without taking. Data that is read again must be the same then, so loans are copied out first. */
static size_t peek_bytes(const struct socket *socket, char *bytes, size_t size, size_t skip)
{
	struct pbuf *pbuf = socket->first;
	size_t offset = socket->offset + skip, done = 0;

	for (; pbuf && done < size; pbuf = pbuf->next) {
		received_copy_out(pbuf);
		size_t part = pbuf->len > offset ? pbuf->len - offset : 0;

		if (part > size - done)
			part = size - done;
		copy_bytes(bytes + done, (char *)pbuf->payload + offset, part);
		done += part;
		offset = offset > pbuf->len ? offset - pbuf->len : 0;
	}
	return done;
}

/* The answer to a read where no data is: 0 at the end, or negative. */
static int nothing_to_read(struct socket *socket)
{
	if (socket->state == SOCKET_NEW || socket->state == SOCKET_LISTENING)
		return -ENOTCONN;
	if (socket->state == SOCKET_CONNECTING)
		return -EAGAIN;
	if (socket->error)
		return socket_take_error(socket);
	return socket->state == SOCKET_FAILED || socket->peer_closed || socket->read_shut ? 0 : -EAGAIN;
}

static void after_read(struct socket *socket, size_t size)
{
	require(socket->unread >= size);
	socket->unread -= size;
	require(!socket->unread == !socket->first);
	share_window_read(socket, size);
	if (!socket->first)
		socket_update_drained(socket);
}

ssize_t stream_read(struct file *file, void *buffer, size_t size)
{
	struct socket *socket = socket_of(file);
	size_t done;

	if (!socket->first)
		return nothing_to_read(socket);
	done = read_bytes(socket, buffer, size);
	after_read(socket, done);
	return (ssize_t)done;
}

ssize_t stream_receive(struct file *file, struct msghdr *message, int flags)
{
	struct socket *socket = socket_of(file);
	int error = message_begin(message, flags);
	size_t total = 0;

	if (error)
		return error;
	if (!socket->first)
		return nothing_to_read(socket);
	for (size_t i = 0; i < (size_t)message->msg_iovlen; i++) {
		struct iovec *iov = &message->msg_iov[i];

		if (flags & MSG_PEEK)
			total += peek_bytes(socket, iov->iov_base, iov->iov_len, total);
		else
			total += read_several(socket, iov->iov_base, iov->iov_len, flags & MSG_TRUNC);
	}
	if (!(flags & MSG_PEEK))
		after_read(socket, total);
	return (ssize_t)total;
}
