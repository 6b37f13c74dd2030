/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Socket calls: descriptors, blocking and timeouts here; the rest is the
 * socket layer's, behind file_operations.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <skerry/manager.h>
#include "family.h"
#include "layer.h"

__attribute__((weak)) int socket_create(int domain, int type, int protocol, struct file **out)
{
	(void)domain, (void)type, (void)protocol, (void)out;
	return -EAFNOSUPPORT;
}

/* The file of descriptor `fd` in `file`, or return; `op` is an operation that it must have. */
#define SOCKET(file, fd, op)                             \
	struct file *file = descriptor_file((int)(fd));  \
	if (!file)                                       \
		return -EBADF;                           \
	if (!file->ops->op)                              \
		return -ENOTSOCK

static int open_socket(struct file *file, int type)
{
	file->flags = O_RDWR | (type & SOCK_NONBLOCK ? O_NONBLOCK : 0);
	return descriptor_open(file, 0);
}

/* The console names a family of sockets that is not there, as it does system calls: once, of those that programs ask
 * for. */
static void tell_family(int family)
{
	static bool logged[AF_MAX];
	const char *name = family == AF_NETLINK ? " (netlink)" : family == AF_PACKET ? " (packet)" : family == AF_UNIX
	                   ? " (unix)" :
			   family == AF_INET6 ? " (IPv6)" : "";

	if (family < 0 || family >= AF_MAX || logged[family])
		return;
	logged[family] = true;
	console_log("posix: sockets of family %d%s are not provided", family, name);
}

long sys_socket(const long *a)
{
	struct file *file;
	int type = (int)a[1];

	event_socket_made();
	int error = OF_NETWORK(socket_create((int)a[0], type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC), (int)a[2], &file),
	                       -EACCES);

	if (error == -EAFNOSUPPORT)
		tell_family((int)a[0]);
	return error ? error : open_socket(file, type);
}

#ifdef LAYER_FAMILY

static ssize_t dead_read(struct file *file, void *buffer, size_t size)
{
	(void)file, (void)buffer, (void)size;
	return -EBADF;
}

static ssize_t dead_write(struct file *file, const void *buffer, size_t size)
{
	(void)file, (void)buffer, (void)size;
	return -EBADF;
}

/* Leaves what the stack has of it in this process's copy of the heap. */
static void dead_close(struct file *file) { (void)file; }

void socket_forked(struct file *file)
{
	static const struct file_operations dead = {
		.name = "a parent's socket", .read = dead_read, .write = dead_write, .close = dead_close,
	};

	if (!file->ops->connect || socket_is_pair(file))
		return;
	file->ops = &dead;
	file->on_ready = 0;
	file_ready_changed(file, EPOLLERR | EPOLLHUP);
}

#endif

long sys_bind(const long *a)
{
	SOCKET(file, a[0], bind);
	return file->ops->bind(file, (const struct sockaddr *)a[1], (socklen_t)a[2]);
}

/* Reports the port and the address that a socket listens at: port 0 if it has none. */
static void report_listener(struct file *file)
{
	struct sockaddr_in name = { 0 };
	socklen_t length = sizeof(name);

	if (!file->ops->getsockname || file->ops->getsockname(file, (struct sockaddr *)&name, &length) ||
	    name.sin_family != AF_INET)
		manager_listens(0);
	else
		manager_listens_at(__builtin_bswap16(name.sin_port), name.sin_addr.s_addr);
}

long sys_listen(const long *a)
{
	SOCKET(file, a[0], listen);
	long error = file->ops->listen(file, (int)a[1]);
	if (!error)
		report_listener(file);
	return error;
}

static uint64_t receive_deadline(const struct file *file)
{
	return file->receive_timeout ? deadline_after(file->receive_timeout) : 0;
}

static uint64_t send_deadline(const struct file *file)
{
	return file->send_timeout ? deadline_after(file->send_timeout) : 0;
}

long sys_accept4(const long *a)
{
	SOCKET(file, a[0], accept);
	struct sockaddr *address = (struct sockaddr *)a[1];
	socklen_t *length = (socklen_t *)a[2];
	uint64_t deadline = receive_deadline(file);
	struct file *connection = 0;

	file_hold(file);
	ssize_t error = file->ops->accept(file, &connection, address, length);
	while (!(file->flags & O_NONBLOCK) && file_again(file, EPOLLIN, deadline, &error))
		error = file->ops->accept(file, &connection, address, length);
	file_put(file);
	return error ? error : open_socket(connection, (int)a[3]);
}

long sys_accept(const long *a) { return sys_accept4((const long[]){ a[0], a[1], a[2], 0 }); }

static int pending_error(struct file *file)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (file->ops->getsockopt)
		file->ops->getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size);
	return -error;
}

long sys_connect(const long *a)
{
	SOCKET(file, a[0], connect);
	uint64_t deadline = send_deadline(file);
	int error = file->ops->connect(file, (const struct sockaddr *)a[1], (socklen_t)a[2]);

	/* one that a signal has ended goes on, and is waited for when the call is made again, as on Linux */
	if ((error != -EINPROGRESS && error != -EALREADY) || file->flags & O_NONBLOCK)
		return error;
	file_hold(file);
	error = file_wait(file, EPOLLOUT, deadline);
	error = !error ? pending_error(file) : error == -EAGAIN ? -EINPROGRESS : error;
	file_put(file);
	return error;
}

long sys_getsockname(const long *a)
{
	SOCKET(file, a[0], getsockname);
	return file->ops->getsockname(file, (struct sockaddr *)a[1], (socklen_t *)a[2]);
}

long sys_getpeername(const long *a)
{
	SOCKET(file, a[0], getpeername);
	return file->ops->getpeername(file, (struct sockaddr *)a[1], (socklen_t *)a[2]);
}

/* Null unless the option is one of the two timeouts. */
static uint64_t *timeout_of(struct file *file, long level, long option)
{
	if (level != SOL_SOCKET)
		return 0;
	return option == SO_RCVTIMEO ? &file->receive_timeout : option == SO_SNDTIMEO ? &file->send_timeout : 0;
}

long sys_setsockopt(const long *a)
{
	SOCKET(file, a[0], setsockopt);
	uint64_t *timeout = timeout_of(file, a[1], a[2]);
	struct timeval t;

	if (!timeout)
		return file->ops->setsockopt(file, (int)a[1], (int)a[2], (const void *)a[3], (socklen_t)a[4]);
	if ((size_t)a[4] < sizeof(t))
		return -EINVAL;
	memcpy(&t, (const void *)a[3], sizeof(t));
	if (t.tv_sec < 0 || t.tv_usec < 0 || t.tv_usec >= 1000000)
		return -EDOM;
	*timeout = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
	return 0;
}

long sys_getsockopt(const long *a)
{
	SOCKET(file, a[0], getsockopt);
	uint64_t *timeout = timeout_of(file, a[1], a[2]);
	socklen_t *length = (socklen_t *)a[4];

	if (!timeout)
		return file->ops->getsockopt(file, (int)a[1], (int)a[2], (void *)a[3], length);
	struct timeval t = { (time_t)(*timeout / 1000000000), (suseconds_t)(*timeout % 1000000000 / 1000) };
	if (*length > sizeof(t))
		*length = sizeof(t);
	memcpy((void *)a[3], &t, *length);
	return 0;
}

long sys_shutdown(const long *a)
{
	SOCKET(file, a[0], shutdown);
	return file->ops->shutdown(file, (int)a[1]);
}

/* Nothing that read and write could not do. */
static bool is_plain(const struct file *file, const struct msghdr *m, int flags)
{
	return !file->ops->has_messages && !m->msg_name && !m->msg_controllen &&
	       !(flags & ~(MSG_DONTWAIT | MSG_NOSIGNAL));
}

long sys_sendmsg(const long *a)
{
	SOCKET(file, a[0], connect);
	const struct msghdr *m = (const struct msghdr *)a[1];
	int flags = (int)a[2];
	bool dont_wait = flags & MSG_DONTWAIT;

	if (is_plain(file, m, flags) || !file->ops->sendmsg)
		return file_writev(file, m->msg_iov, m->msg_iovlen, dont_wait);
	uint64_t deadline = send_deadline(file);
	file_hold(file);
	ssize_t n = file->ops->sendmsg(file, m, flags);
	while (!dont_wait && !(file->flags & O_NONBLOCK) && file_again(file, EPOLLOUT, deadline, &n))
		n = file->ops->sendmsg(file, m, flags);
	file_put(file);
	return n;
}

long sys_recvmsg(const long *a)
{
	SOCKET(file, a[0], connect);
	struct msghdr *m = (struct msghdr *)a[1];
	int flags = (int)a[2];
	bool dont_wait = flags & MSG_DONTWAIT;

	if (is_plain(file, m, flags) || !file->ops->recvmsg) {
		m->msg_flags = 0;
		return file_readv(file, m->msg_iov, m->msg_iovlen, dont_wait);
	}
	uint64_t deadline = receive_deadline(file);
	file_hold(file);
	ssize_t n = file->ops->recvmsg(file, m, flags);
	/* a program that polls by receiving makes the network progress */
	if (n == -EAGAIN && (dont_wait || file->flags & O_NONBLOCK) && event_poll())
		n = file->ops->recvmsg(file, m, flags);
	while (!dont_wait && !(file->flags & O_NONBLOCK) && file_again(file, EPOLLIN | EPOLLRDHUP, deadline, &n))
		n = file->ops->recvmsg(file, m, flags);
	file_put(file);
	return n;
}

long sys_sendto(const long *a)
{
	struct iovec iov = { (void *)a[1], (size_t)a[2] };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_name = (void *)a[4],
	                    .msg_namelen = a[4] ? (socklen_t)a[5] : 0 };

	return sys_sendmsg((const long[]){ a[0], (long)&m, a[3] });
}

long sys_recvfrom(const long *a)
{
	struct iovec iov = { (void *)a[1], (size_t)a[2] };
	socklen_t *length = (socklen_t *)a[5];
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_name = (void *)a[4],
	                    .msg_namelen = a[4] && length ? *length : 0 };
	long n = sys_recvmsg((const long[]){ a[0], (long)&m, a[3] });

	if (n >= 0 && a[4] && length)
		*length = m.msg_namelen;
	return n;
}

/* Returns the bytes of a stream that have arrived, or of the first datagram: as many as MSG_PEEK would return into a
 * large buffer. */
static ssize_t bytes_arrived(struct file *file)
{
	enum { PIECES = 64, PIECE = 8192 }; /* more than any socket's window */
	char piece[PIECE];
	struct iovec iov[PIECES];
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = PIECES };

	for (unsigned i = 0; i < PIECES; i++)
		iov[i] = (struct iovec){ piece, sizeof(piece) };
	return file->ops->recvmsg(file, &m, MSG_PEEK | MSG_DONTWAIT);
}

long socket_ioctl(struct file *file, unsigned long request, void *argument)
{
	int listens = 0;
	socklen_t size = sizeof(listens);
	ssize_t n = 0;

	if (request != FIONREAD)
		return -ENOTTY;
	if (file->ops->getsockopt && !file->ops->getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) &&
	    listens)
		return -EINVAL;
	event_poll(); /* a program that polls by asking, until there is enough, makes the network progress */
	if (file->ready & EPOLLIN && !(file->ready & EPOLLERR)) /* an error is for the next read */
		n = bytes_arrived(file);
	*(int *)argument = n > 0 ? (int)n : 0;
	return 0;
}
