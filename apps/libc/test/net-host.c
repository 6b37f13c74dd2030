/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket layer over Linux's sockets, behind the same seam as the one over
 * lwIP, so that whole programs can run over the POSIX layer on Linux. Its
 * readiness is edge-triggered: what was ready stays so until Linux says EAGAIN.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "layer.h"
#include "linux-call.h"

struct host_socket {
	struct file file;
	int fd;
};

static int host_epoll = -1, wake_fd;

static int fd_of(struct file *file) { return ((struct host_socket *)file)->fd; }

static void start(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	host_epoll = (int)linux_call(SYS_epoll_create1, 0, 0, 0, 0, 0, 0);
	wake_fd = (int)linux_call(SYS_eventfd2, 0, EFD_NONBLOCK, 0, 0, 0, 0);
	linux_call(SYS_epoll_ctl, host_epoll, EPOLL_CTL_ADD, wake_fd, (long)&event, 0, 0);
}

bool net_poll(void)
{
	struct epoll_event events[64];

	if (host_epoll < 0)
		return false;
	long n = linux_call(SYS_epoll_pwait, host_epoll, (long)events, 64, 0, 0, 0);
	bool happened = false;
	for (long i = 0; i < n; i++) {
		struct file *file = events[i].data.ptr;
		if (!file)
			continue; /* a wake-up is the sleeper's: taken here, it would be lost */
		file_ready_changed(file, file->ready | events[i].events);
		happened = true;
	}
	return happened;
}

/* For platform-host.c: sleep until something happens here; the edges stay for net_poll(). */
bool net_host_sleep(const struct timespec *timeout)
{
	struct pollfd look = { .fd = host_epoll, .events = POLLIN };

	if (host_epoll < 0)
		return false;
	uint64_t word;
	linux_call(SYS_ppoll, (long)&look, 1, (long)timeout, 0, 0, 0);
	linux_call(SYS_read, wake_fd, (long)&word, 8, 0, 0, 0); /* the wake-up, if it was one */
	return true;
}

bool net_host_wake(void)
{
	uint64_t one = 1;

	if (host_epoll < 0)
		return false;
	linux_call(SYS_write, wake_fd, (long)&one, 8, 0, 0, 0);
	return true;
}

/* Returns Linux's result; -EAGAIN means that `event` holds no longer. */
static long after(struct file *file, long result, uint32_t event)
{
	if (result == -EAGAIN)
		file_ready_changed(file, file->ready & ~event);
	return result;
}

static ssize_t socket_read(struct file *file, void *buffer, size_t size)
{
	return after(file, linux_call(SYS_read, fd_of(file), (long)buffer, (long)size, 0, 0, 0), EPOLLIN);
}

static ssize_t socket_write(struct file *file, const void *buffer, size_t size)
{
	return after(file, linux_call(SYS_sendto, fd_of(file), (long)buffer, (long)size, MSG_NOSIGNAL, 0, 0), EPOLLOUT);
}

static ssize_t socket_writev(struct file *file, const struct iovec *iov, int count)
{
	return after(file, linux_call(SYS_writev, fd_of(file), (long)iov, count, 0, 0, 0), EPOLLOUT);
}

static ssize_t socket_recvmsg(struct file *file, struct msghdr *m, int flags)
{
	return after(file, linux_call(SYS_recvmsg, fd_of(file), (long)m, flags, 0, 0, 0), EPOLLIN);
}

static ssize_t socket_sendmsg(struct file *file, const struct msghdr *m, int flags)
{
	return after(file, linux_call(SYS_sendmsg, fd_of(file), (long)m, flags | MSG_NOSIGNAL, 0, 0, 0), EPOLLOUT);
}

static int socket_bind(struct file *file, const struct sockaddr *address, socklen_t length)
{
	return (int)linux_call(SYS_bind, fd_of(file), (long)address, length, 0, 0, 0);
}

static int socket_listen(struct file *file, int backlog)
{
	return (int)linux_call(SYS_listen, fd_of(file), backlog, 0, 0, 0, 0);
}

static int socket_connect(struct file *file, const struct sockaddr *address, socklen_t length)
{
	long result = linux_call(SYS_connect, fd_of(file), (long)address, length, 0, 0, 0);

	if (result == -EINPROGRESS) /* a fresh socket is ready for writing and hangs up until it connects */
		file_ready_changed(file, 0);
	return (int)result;
}

static int socket_getsockname(struct file *file, struct sockaddr *address, socklen_t *length)
{
	return (int)linux_call(SYS_getsockname, fd_of(file), (long)address, (long)length, 0, 0, 0);
}

static int socket_getpeername(struct file *file, struct sockaddr *address, socklen_t *length)
{
	return (int)linux_call(SYS_getpeername, fd_of(file), (long)address, (long)length, 0, 0, 0);
}

static int socket_setsockopt(struct file *file, int level, int option, const void *value, socklen_t length)
{
	return (int)linux_call(SYS_setsockopt, fd_of(file), level, option, (long)value, length, 0);
}

static int socket_getsockopt(struct file *file, int level, int option, void *value, socklen_t *length)
{
	return (int)linux_call(SYS_getsockopt, fd_of(file), level, option, (long)value, (long)length, 0);
}

static int socket_shutdown(struct file *file, int how)
{
	return (int)linux_call(SYS_shutdown, fd_of(file), how, 0, 0, 0, 0);
}

static void socket_close(struct file *file)
{
	linux_call(SYS_close, fd_of(file), 0, 0, 0, 0, 0);
	layer_free(file);
}

static int socket_accept(struct file *file, struct file **out, struct sockaddr *address, socklen_t *length);

static const struct file_operations socket_ops = {
	.name = "socket",
	.read = socket_read,
	.write = socket_write,
	.writev = socket_writev,
	.close = socket_close,
	.bind = socket_bind,
	.listen = socket_listen,
	.accept = socket_accept,
	.connect = socket_connect,
	.getsockname = socket_getsockname,
	.getpeername = socket_getpeername,
	.setsockopt = socket_setsockopt,
	.getsockopt = socket_getsockopt,
	.shutdown = socket_shutdown,
	.sendmsg = socket_sendmsg,
	.recvmsg = socket_recvmsg,
};

static int wrap(int fd, struct file **out)
{
	struct host_socket *s = layer_allocate(sizeof(*s));

	if (!s) {
		linux_call(SYS_close, fd, 0, 0, 0, 0, 0);
		return -ENOMEM;
	}
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = s };
	file_init(&s->file, &socket_ops, O_RDWR);
	s->fd = fd;
	linux_call(SYS_epoll_ctl, host_epoll, EPOLL_CTL_ADD, fd, (long)&event, 0, 0);
	*out = &s->file;
	return 0;
}

static int socket_accept(struct file *file, struct file **out, struct sockaddr *address, socklen_t *length)
{
	long fd = linux_call(SYS_accept4, fd_of(file), (long)address, (long)length, SOCK_NONBLOCK, 0, 0);

	return fd < 0 ? (int)after(file, fd, EPOLLIN) : wrap((int)fd, out);
}

/* Linux has more families than the layer. */
int socket_create(int domain, int type, int protocol, struct file **out)
{
	if (domain != AF_INET)
		return -EAFNOSUPPORT;
	if (host_epoll < 0)
		start();
	long fd = linux_call(SYS_socket, domain, type | SOCK_NONBLOCK, protocol, 0, 0, 0);
	return fd < 0 ? (int)fd : wrap((int)fd, out);
}
