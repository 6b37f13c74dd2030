/* SPDX-License-Identifier: BSD-2-Clause */
/* What lwip/, remote/ and stack/ share: the sockets that a program has, their addresses and messages. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <skerry/posix.h>
#include <skerry/socket_address.h>

/*
 * The sockets that a program has: lwIP's within it (lwip/), or those of a stack
 * process beside it (remote/). Both stand behind the POSIX layer's one seam
 * (skerry/posix.h), where the operations are explained; their sockets are
 * files with the same operations.
 */

struct net_backend {
	int (*start)(void);               /* once, before the others; 0 or a negative errno */
	int (*socket)(struct file **out); /* a new TCP socket */
	int (*datagram)(struct file **out); /* a new UDP socket; null: it has none */
	bool (*poll)(void);
	uint64_t (*deadline)(void);
	bool (*prepare_sleep)(void);
};

extern const struct net_backend lwip_backend, remote_backend;

/* Addresses as programs give them, to and from those that sockets keep. */

/* 0 or a negative errno. */
int address_take(const struct sockaddr *from, socklen_t length, struct socket_address *to);
/* Cut at *length, which then has the true length; nothing where either is null. */
void address_give(const struct socket_address *from, struct sockaddr *to, socklen_t *length);

/* A UDP socket that can send and receive nothing, of a program without lwIP of its own; 0 or a negative errno. */
int datagram_create(struct file **out);

/* sendmsg() and recvmsg() of a connection, wherever its data is. */

/* Writes what there is room for, -EAGAIN where there is none; `more`: the caller has more that follows at once. */
typedef ssize_t connection_write(void *connection, const char *bytes, size_t size, bool more);

/* Why this message can be sent on no connection, negative; or 0. */
static inline int message_refused(const struct msghdr *message, int flags, bool connected)
{
	if (flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE))
		return -EOPNOTSUPP;
	if (message->msg_name)
		return connected ? -EISCONN : -EOPNOTSUPP;
	return 0;
}

/* Its parts in order, up to the first that is not written whole. */
static inline ssize_t message_write(const struct msghdr *message, connection_write *write, void *connection, bool more)
{
	ssize_t total = 0;

	for (size_t i = 0; i < (size_t)message->msg_iovlen; i++) {
		const struct iovec *iov = &message->msg_iov[i];
		ssize_t n = write(connection, iov->iov_base, iov->iov_len, more);

		if (n < 0)
			return total ? total : n;
		total += n;
		if ((size_t)n < iov->iov_len)
			break;
	}
	return total;
}

/* Prepares an answer without a name or control data. Returns 0, or a negative error for unsupported flags. */
static inline int message_begin(struct msghdr *message, int flags)
{
	if (flags & MSG_OOB)
		return -EINVAL;
	message->msg_namelen = 0;
	message->msg_controllen = 0;
	message->msg_flags = 0;
	return 0;
}
