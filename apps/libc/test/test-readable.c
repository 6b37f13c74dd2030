/* SPDX-License-Identifier: BSD-2-Clause */
/* FIONREAD: how much of a file, a pipe, a pair of sockets, and of a socket that only knows MSG_PEEK, can be read.
 * Families of sockets that there are not. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include "ramfs-host.h"

long sys_ioctl(const long *), sys_pipe2(const long *), sys_socketpair(const long *), sys_write(const long *),
sys_shutdown(const long *), sys_socket(const long *), sys_connect(const long *);
int manager_listens(uint16_t port), manager_listens_at(uint16_t port, uint32_t ipv4);
int manager_listens(uint16_t port) { return port && 0; }
int manager_listens_at(uint16_t port, uint32_t ipv4) { return port && ipv4 && 0; }
void file_ready_changed(struct file *file, uint32_t ready) { file->ready = ready; }
void file_ready_again(struct file *file, uint32_t ready, uint32_t again)
{
	(void)again;
	file->ready = ready;
}
long sys_close(const long *a) { return call_close(a[0]); }
uint64_t deadline_after_timespec(const struct timespec *t) { (void)t; return 0; }

static int readable(long fd)
{
	int bytes = -1;
	const long error = CALL(ioctl, fd, FIONREAD, P(&bytes));

	return error ? (int)error : bytes;
}

static bool listens;
static size_t waiting;
static int polls, errors_taken;

static int option_of(struct file *file, int level, int option, void *value, socklen_t *size)
{
	CHECK(file && level == SOL_SOCKET && option == SO_ACCEPTCONN && *size == sizeof(int));
	memcpy(value, &(int){ listens }, sizeof(int));
	return 0;
}

/* A stream of `waiting` bytes. */
static ssize_t peek(struct file *file, struct msghdr *m, int flags)
{
	size_t done = 0;

	errors_taken += (file->ready & EPOLLERR) != 0;
	CHECK(flags == (MSG_PEEK | MSG_DONTWAIT));
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		const size_t n = m->msg_iov[i].iov_len < waiting - done ? m->msg_iov[i].iov_len : waiting - done;
		memset(m->msg_iov[i].iov_base, 'x', n);
		done += n;
	}
	return done ? (ssize_t)done : -EAGAIN;
}

static const struct file_operations socket_ops = { .getsockopt = option_of, .recvmsg = peek };
static struct file socket_file = { .ops = &socket_ops, .references = 1 };

/* Data arrives when the network is polled. */
bool net_poll(void)
{
	polls++;
	socket_file.ready |= waiting ? EPOLLIN : 0;
	return waiting;
}

static void sockets(void)
{
	const int fd = descriptor_open(&socket_file, 0);

	CHECK(readable(fd) == 0 && polls == 1);
	waiting = 200001;
	CHECK(readable(fd) == 200001 && polls == 2 && readable(fd) == 200001 && polls == 3); /* more may have come */
	socket_file.ready |= EPOLLERR;
	CHECK(readable(fd) == 0 && errors_taken == 0);
	listens = true;
	CHECK(readable(fd) == -EINVAL && CALL(ioctl, fd, TCGETS, 0) == -ENOTTY);
}

static void files(void)
{
	const long fd = call_open("/counted", O_RDWR | O_CREAT), directory = call_open("/", O_RDONLY);
	int pipes[2], pair[2];

	CHECK(CALL(pwrite64, fd, P("123456"), 6, 0) == 6 && readable(fd) == 6 && CALL(lseek, fd, 2, SEEK_SET) == 2 &&
	      readable(fd) == 4);
	CHECK(readable(directory) == -ENOTTY && readable(60) == -EBADF && CALL(ioctl, fd, TCGETS, 0) == -ENOTTY);
	CHECK(CALL(pipe2, P(pipes), 0) == 0 && readable(pipes[0]) == 0 && CALL(write, pipes[1], P("12345"), 5) == 5);
	CHECK(readable(pipes[0]) == 5 && readable(pipes[1]) == 5 && CALL(ioctl, pipes[0], TCGETS, 0) == -ENOTTY);
	CHECK(CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, P(pair)) == 0 && CALL(write, pair[1], P("1234"), 4) == 4);
	CHECK(readable(pair[0]) == 4 && readable(pair[1]) == 0 && CALL(ioctl, pair[0], TCGETS, 0) == -ENOTTY);
	CHECK(CALL(shutdown, pair[0], SHUT_RD) == 0 && readable(pair[0]) == 0);
}

static char line[120]; /* the last on the console */
static int lines;

void console_log(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	lines++;
}

/* A family is refused at once, and named once. */
static void families(void)
{
	for (int i = 0; i < 3; i++) {
		CHECK(CALL(socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) == -EAFNOSUPPORT && lines == 1);
		CHECK(!strcmp(line, "posix: sockets of family 16 (netlink) are not provided"));
	}
	CHECK(CALL(socket, -1, SOCK_STREAM, 0) == -EAFNOSUPPORT);
	CHECK(CALL(socket, AF_MAX, SOCK_STREAM, 0) == -EAFNOSUPPORT);
	CHECK(lines == 1 && CALL(socket, AF_PACKET, SOCK_RAW, 0) == -EAFNOSUPPORT && lines == 2);
	CHECK(!strcmp(line, "posix: sockets of family 17 (packet) are not provided"));
}

static int connect_again(struct file *file, const struct sockaddr *address, socklen_t length)
{
	(void)file, (void)address, (void)length;
	return -EALREADY;
}

/* A call that is made again waits for the connection that the first one has begun, unless it may not wait. */
static void connections(void)
{
	static const struct file_operations connecting = { .connect = connect_again };
	static struct file connection = { .ops = &connecting, .references = 1, .ready = EPOLLOUT };
	const struct sockaddr_in to = { .sin_family = AF_INET };
	const int fd = descriptor_open(&connection, 0);

	CHECK(CALL(connect, fd, P(&to), sizeof(to)) == 0);
	connection.flags = O_NONBLOCK;
	CHECK(CALL(connect, fd, P(&to), sizeof(to)) == -EALREADY);
}

int main(void)
{
	host_info.files_size = 0;
	sockets();
	files();
	families();
	connections();
	return 0;
}
