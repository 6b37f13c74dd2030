/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A UDP socket of a program that has no network or a stack process: it can do what needs no packet. musl's
 * getaddrinfo() makes and connects one to learn whether there is IPv4 (AI_ADDRCONFIG), and programs do so to learn
 * their own address. What would send or receive is refused, and said once on the console: musl's resolver fails at its
 * bind() then, at once and not after a timeout.
 */
#include <errno.h>
#include <fcntl.h>
#include <skerry/process.h>
#include <string.h>
#include <sys/epoll.h>
#include "net.h"

struct datagram {
	struct file file;
	bool connected;
	struct socket_address remote;
};

static int error_set(void)
{
	static bool logged;

	if (!logged)
		console_log("posix: no UDP without a network, or with a stack process: no datagrams, no name server");
	logged = true;
	return -EOPNOTSUPP;
}

static int datagram_bind(struct file *file, const struct sockaddr *address, socklen_t length)
{
	(void)file, (void)address, (void)length;
	return error_set();
}

static int datagram_connect(struct file *file, const struct sockaddr *address, socklen_t length)
{
	struct datagram *d = (struct datagram *)file;
	int error = address_take(address, length, &d->remote);

	d->connected = !error;
	return error;
}

static int datagram_name(struct file *file, struct sockaddr *address, socklen_t *length)
{
	const struct process_info *info = process_info();
	const bool is_known = ((struct datagram *)file)->connected && info;

	address_give(&(struct socket_address){ .ipv4 = is_known ? info->network.ipv4 : 0 }, address, length);
	return 0;
}

static int datagram_peer_name(struct file *file, struct sockaddr *address, socklen_t *length)
{
	const struct datagram *d = (struct datagram *)file;

	if (!d->connected)
		return -ENOTCONN;
	address_give(&d->remote, address, length);
	return 0;
}

static ssize_t datagram_read(struct file *file, void *buffer, size_t size)
{
	(void)file, (void)buffer, (void)size;
	return error_set();
}

static ssize_t datagram_write(struct file *file, const void *buffer, size_t size)
{
	(void)file, (void)buffer, (void)size;
	return error_set();
}

static ssize_t datagram_send(struct file *file, const struct msghdr *m, int flags)
{
	(void)file, (void)m, (void)flags;
	return error_set();
}

static ssize_t datagram_receive(struct file *file, struct msghdr *m, int flags)
{
	(void)file, (void)m, (void)flags;
	return error_set();
}

static int datagram_getsockopt(struct file *file, int level, int option, void *value, socklen_t *size)
{
	int number = option == SO_TYPE ? SOCK_DGRAM : 0;

	(void)file;
	if (level != SOL_SOCKET || (option != SO_TYPE && option != SO_ERROR))
		return -ENOPROTOOPT;
	if (*size > sizeof(number))
		*size = sizeof(number);
	memcpy(value, &number, *size);
	return 0;
}

static int datagram_setsockopt(struct file *file, int level, int option, const void *value, socklen_t size)
{
	(void)file, (void)level, (void)option, (void)value, (void)size;
	return error_set();
}

static int datagram_shutdown(struct file *file, int how)
{
	(void)how;
	return ((struct datagram *)file)->connected ? 0 : -ENOTCONN;
}

static int datagram_stat(struct file *file, struct stat *st)
{
	(void)file;
	st->st_mode = S_IFSOCK | 0777;
	return 0;
}

static const struct file_operations datagram_operations = {
	.name = "datagram socket", .read = datagram_read, .write = datagram_write, .bind = datagram_bind,
	.connect = datagram_connect, .getsockname = datagram_name, .getpeername = datagram_peer_name,
	.setsockopt = datagram_setsockopt, .getsockopt = datagram_getsockopt, .shutdown = datagram_shutdown,
	.sendmsg = datagram_send, .recvmsg = datagram_receive,
	.stat = datagram_stat,
};

int datagram_create(struct file **out)
{
	struct datagram *d = layer_allocate(sizeof(*d));

	if (!d)
		return -ENOMEM;
	file_init(&d->file, &datagram_operations, O_RDWR);
	d->file.ready = EPOLLOUT;
	*out = &d->file;
	return 0;
}
