/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * socketpair(2): two stream sockets, joined. Each end reads one ring of bytes and writes the other. In the form for
 * programs that fork each end is a stream, which processes of the family may share (family-stream.h). No control data:
 * no descriptor can be passed.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include "byte-ring.h"
#include "family.h"
#include "layer.h"
#include "family-stream.h"

#ifdef LAYER_FAMILY

static ssize_t pair_write(struct file *file, const void *buffer, size_t size)
{
	return family_stream_write(file, buffer, size);
}

#else

struct pair_end {
	struct file file;
	struct pair *pair;
	struct pair_end *peer;     /* null when it is closed */
	struct byte_ring *in;      /* what this end reads; `out` is the peer's */
	struct byte_ring *out;
	bool read_shut, write_shut;
};

struct pair {
	struct pair_end end[2];
	struct byte_ring ring[2];
	unsigned open; /* ends: the last one that closes frees all */
};

static struct pair_end *end_of(struct file *file) { return (struct pair_end *)file; }

/* Returns whether no more will come than `in` holds. */
static bool read_ended(const struct pair_end *e) { return e->read_shut || !e->peer || e->peer->write_shut; }

/* Returns whether whatever is written is refused. */
static bool write_refused(const struct pair_end *e) { return e->write_shut || !e->peer || e->peer->read_shut; }

enum { ALL = -1 }; /* events */

/* `again`: what it is told of though it was so before: an edge of epoll. */
static void update_one(struct pair_end *e, uint32_t again)
{
	uint32_t ready = 0;

	if (!e->file.references)
		return; /* it is closed */

	if (byte_ring_held(e->in) || read_ended(e))
		ready |= EPOLLIN;
	if (read_ended(e))
		ready |= EPOLLRDHUP;
	if (write_refused(e) || byte_ring_room(e->out) >= BYTE_RING_ATOMIC)
		ready |= EPOLLOUT;
	if (read_ended(e) && write_refused(e))
		ready |= EPOLLHUP;
	file_ready_again(&e->file, ready, again);
}

/* The peer may write again: it is told where nothing of what it wrote is left, as Linux does when it frees a
 * message. */
static void bytes_taken(struct pair_end *e)
{
	update_one(e, 0);
	update_one(&e->pair->end[e == e->pair->end], byte_ring_held(e->in) ? 0 : EPOLLOUT);
}

static ssize_t pair_read(struct file *file, void *buffer, size_t size)
{
	struct pair_end *e = end_of(file);

	if (e->read_shut)
		return 0;
	if (!byte_ring_held(e->in))
		return read_ended(e) ? 0 : -EAGAIN;
	size = byte_ring_read(e->in, buffer, size);
	bytes_taken(e);
	return (ssize_t)size;
}

static ssize_t pair_write(struct file *file, const void *buffer, size_t size)
{
	struct pair_end *e = end_of(file);

	if (write_refused(e))
		return -EPIPE;
	if (!size)
		return 0;
	size = byte_ring_write(e->out, buffer, size);
	update_one(e, 0);
	update_one(e->peer, size ? EPOLLIN : 0);
	return size ? (ssize_t)size : -EAGAIN;
}

#endif

static ssize_t pair_send(struct file *file, const struct msghdr *m, int flags)
{
	ssize_t total = 0;

	if (m->msg_namelen)
		return -EISCONN;
	if (m->msg_controllen || flags & MSG_OOB)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < (size_t)m->msg_iovlen; i++) {
		ssize_t n = pair_write(file, m->msg_iov[i].iov_base, m->msg_iov[i].iov_len);
		if (n < 0)
			return total ? total : n;
		total += n;
		if ((size_t)n < m->msg_iov[i].iov_len)
			break;
	}
	return total;
}

#ifndef LAYER_FAMILY

/* With MSG_PEEK the bytes stay; MSG_WAITALL may return fewer, as after a signal. */
static ssize_t pair_receive(struct file *file, struct msghdr *m, int flags)
{
	struct pair_end *e = end_of(file);
	size_t total = 0, wanted = 0;

	if (flags & (MSG_OOB | MSG_ERRQUEUE))
		return -EOPNOTSUPP;
	for (size_t i = 0; i < (size_t)m->msg_iovlen; i++)
		wanted += m->msg_iov[i].iov_len;
	if (wanted && !e->read_shut && !byte_ring_held(e->in) && !read_ended(e))
		return -EAGAIN;
	for (size_t i = 0; i < (size_t)m->msg_iovlen && !e->read_shut; i++)
		total += byte_ring_peek(e->in, total, m->msg_iov[i].iov_base, m->msg_iov[i].iov_len);
	if (!(flags & MSG_PEEK)) {
		require(total <= byte_ring_held(e->in));
		e->in->tail += total;
		bytes_taken(e);
	}
	m->msg_namelen = 0;
	m->msg_controllen = 0;
	m->msg_flags = 0;
	return (ssize_t)total;
}

static int pair_shutdown(struct file *file, int how)
{
	struct pair_end *e = end_of(file);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	e->read_shut |= how != SHUT_WR;
	e->write_shut |= how != SHUT_RD;
	for (unsigned i = 0; i < 2; i++)
		update_one(&e->pair->end[i], (uint32_t)ALL);
	return 0;
}

#endif

/* Returns the empty address of a socket without a name. */
static int pair_name(struct file *file, struct sockaddr *address, socklen_t *length)
{
	const sa_family_t family = AF_UNIX;

	(void)file;
	memcpy(address, &family, *length < sizeof(family) ? *length : sizeof(family));
	*length = sizeof(family);
	return 0;
}

static int pair_peer_name(struct file *file, struct sockaddr *address, socklen_t *length)
{
#ifdef LAYER_FAMILY
	return family_stream_has_peer((struct stream *)file) ? pair_name(file, address, length) : -ENOTCONN;
#else
	return end_of(file)->peer ? pair_name(file, address, length) : -ENOTCONN;
#endif
}

static int pair_getsockopt(struct file *file, int level, int option, void *value, socklen_t *size)
{
	int number;

	(void)file;
	if (level != SOL_SOCKET)
		return -EOPNOTSUPP;
	switch (option) {
	case SO_TYPE: number = SOCK_STREAM; break;
	case SO_DOMAIN: number = AF_UNIX; break;
	case SO_SNDBUF: case SO_RCVBUF: number = BYTE_RING_SIZE; break;
	case SO_ERROR: case SO_PROTOCOL: case SO_ACCEPTCONN: number = 0; break;
	default: return -ENOPROTOOPT;
	}
	if (*size > sizeof(number))
		*size = sizeof(number);
	memcpy(value, &number, *size);
	return 0;
}

/* Its rings have one size; everything else is refused by its name. */
static int pair_setsockopt(struct file *file, int level, int option, const void *value, socklen_t size)
{
	(void)file, (void)value, (void)size;
	if (level != SOL_SOCKET)
		return -EOPNOTSUPP;
	return option == SO_SNDBUF || option == SO_RCVBUF ? 0 : -ENOPROTOOPT;
}

static int pair_bind(struct file *file, const struct sockaddr *address, socklen_t length)
{
	(void)file, (void)address, (void)length;
	return -EINVAL;
}

static int pair_connect(struct file *file, const struct sockaddr *address, socklen_t length)
{
	(void)file, (void)address, (void)length;
	return -EISCONN;
}

static int pair_listen(struct file *file, int backlog)
{
	(void)file, (void)backlog;
	return -EINVAL;
}

static int pair_accept(struct file *file, struct file **out, struct sockaddr *address, socklen_t *length)
{
	(void)file, (void)out, (void)address, (void)length;
	return -EINVAL;
}

static int pair_stat(struct file *file, struct stat *st)
{
	(void)file;
	st->st_mode = S_IFSOCK | 0777;
	st->st_nlink = 1;
	st->st_blksize = PAGE;
	return 0;
}

#ifdef LAYER_FAMILY

static int shared_ioctl(struct file *file, unsigned long request, void *argument)
{
	const struct stream *s = (struct stream *)file;

	if (request != FIONREAD)
		return -ENOTTY;
	*(int *)argument = family_get(&s->in.shared->shut) & FAMILY_READ_SHUT ? 0 : (int)family_stream_held(s);
	return 0;
}

#else

static int pair_ioctl(struct file *file, unsigned long request, void *argument)
{
	const struct pair_end *e = end_of(file);

	if (request != FIONREAD)
		return -ENOTTY;
	*(int *)argument = e->read_shut ? 0 : (int)byte_ring_held(e->in);
	return 0;
}

static void pair_close(struct file *file)
{
	struct pair_end *e = end_of(file);
	struct pair *p = e->pair;

	if (!--p->open) {
		layer_free(p);
		return;
	}
	require(p->open == 1 && e->peer && e->peer->peer == e);
	e->peer->peer = 0;
	update_one(e->peer, (uint32_t)ALL);
}

#endif

static const struct file_operations pair_ops = {
	.name = "socketpair",
#ifdef LAYER_FAMILY
	.read = family_stream_read,
	.ioctl = shared_ioctl,
	.close = family_stream_close,
	.shutdown = family_stream_shutdown,
	.recvmsg = family_stream_receive,
#else
	.read = pair_read,
	.ioctl = pair_ioctl,
	.close = pair_close,
	.shutdown = pair_shutdown,
	.recvmsg = pair_receive,
#endif
	.write = pair_write,
	.stat = pair_stat,
	.bind = pair_bind,
	.listen = pair_listen,
	.accept = pair_accept,
	.connect = pair_connect,
	.getsockname = pair_name,
	.getpeername = pair_peer_name,
	.setsockopt = pair_setsockopt,
	.getsockopt = pair_getsockopt,
	.sendmsg = pair_send,
};

#ifdef LAYER_FAMILY
bool socket_is_pair(const struct file *file) { return file->ops == &pair_ops; }

struct file *pair_inherit(uint32_t flags, const int64_t rings[2])
{
	return rings[0] < 0 || rings[1] < 0 ? 0 : family_stream_inherit(&pair_ops, flags, rings);
}
#endif

long sys_socketpair(const long *a)
{
	const int type = (int)a[1];
	int *fds = (int *)a[3];

	if (a[0] != AF_UNIX)
		return a[0] == AF_INET ? -EOPNOTSUPP : -EAFNOSUPPORT;
	if ((type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (a[2])
		return -EPROTONOSUPPORT;
#ifdef LAYER_FAMILY
	struct stream *made[2];
	const int error = family_stream_pair(&pair_ops, &pair_ops, type & SOCK_NONBLOCK ? O_NONBLOCK : 0, true, made);

	return error ? error : descriptors_open(&made[0]->file, &made[1]->file, fds);
#else
	struct pair *p = layer_allocate(sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->open = 2;
	for (unsigned i = 0; i < 2; i++) {
		struct pair_end *e = &p->end[i];
		file_init(&e->file, &pair_ops, O_RDWR | (type & SOCK_NONBLOCK ? O_NONBLOCK : 0));
		e->pair = p;
		e->peer = &p->end[1 - i];
		e->in = &p->ring[i];
		e->out = &p->ring[1 - i];
	}
	for (unsigned i = 0; i < 2; i++)
		update_one(&p->end[i], 0);
	return descriptors_open(&p->end[0].file, &p->end[1].file, fds);
#endif
}
