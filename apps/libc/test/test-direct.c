/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that go straight into the layer (posix/direct.c) against the same system calls by number: in each state of
 * each kind of file, both must return the same, set the same errno and leave the same behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "posixtest.h"

enum { CLOSED = 9999, ROOM = 64 };

static int other; /* the end behind the descriptor that is tested; -1: none */

/* --- files in all their states: each function makes one anew --- */

static int closed(void) { return CLOSED; }
static int negative(void) { return -1; }

static int pipe_end(int end, int flags, const char *content)
{
	int fds[2];

	if (pipe2(fds, flags) != 0)
		return -2;
	if (content && write(fds[1], content, strlen(content)) != (ssize_t)strlen(content))
		return -2;
	other = fds[!end];
	return fds[end];
}

static int without_other(int fd)
{
	close(other);
	other = -1;
	return fd;
}

static int filled(int fd)
{
	static const char block[512];

	while (write(fd, block, sizeof(block)) > 0) {
	}
	return fd;
}

static int pipe_empty(void) { return pipe_end(0, O_NONBLOCK, 0); }
static int pipe_held(void) { return pipe_end(0, 0, "abcdef"); }
static int pipe_held_at_once(void) { return pipe_end(0, O_NONBLOCK, "abcdef"); }
static int pipe_ended(void) { return without_other(pipe_end(0, 0, "ab")); }
static int pipe_at_end(void) { return without_other(pipe_end(0, 0, 0)); }
static int pipe_to(void) { return pipe_end(1, O_NONBLOCK, 0); }
static int pipe_to_blocking(void) { return pipe_end(1, 0, 0); }
static int pipe_full(void) { return filled(pipe_end(1, O_NONBLOCK, 0)); }
static int pipe_broken(void) { return without_other(pipe_end(1, O_NONBLOCK, 0)); }
static int pipe_broken_blocking(void) { return without_other(pipe_end(1, 0, 0)); }

static int pair_end(int flags, const char *content)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | flags, 0, fds) != 0)
		return -2;
	if (content && write(fds[1], content, strlen(content)) != (ssize_t)strlen(content))
		return -2;
	other = fds[1];
	return fds[0];
}

static int pair_shut(int how)
{
	int fd = pair_end(SOCK_NONBLOCK, "abcdef");

	shutdown(fd, how);
	return fd;
}

static int pair_empty(void) { return pair_end(SOCK_NONBLOCK, 0); }
static int pair_held(void) { return pair_end(0, "abcdef"); }
static int pair_held_at_once(void) { return pair_end(SOCK_NONBLOCK, "abcdef"); }
static int pair_full(void) { return filled(pair_end(SOCK_NONBLOCK, "abc")); }
static int pair_ended(void) { return without_other(pair_end(0, "ab")); }
static int pair_at_end(void) { return without_other(pair_end(SOCK_NONBLOCK, 0)); }
static int pair_read_shut(void) { return pair_shut(SHUT_RD); }
static int pair_write_shut(void) { return pair_shut(SHUT_WR); }

static int ram_file(int flags)
{
	int fd = open("/tmp/direct", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, "0123456789", 10) != 10)
		return -2;
	close(fd);
	return open("/tmp/direct", flags);
}

static int file_both(void) { return ram_file(O_RDWR); }
static int file_at_once(void) { return ram_file(O_RDWR | O_NONBLOCK); }
static int file_appends(void) { return ram_file(O_WRONLY | O_APPEND | O_NONBLOCK); }
static int file_to_read(void) { return ram_file(O_RDONLY); }
static int directory(void) { return open("/tmp", O_RDONLY | O_DIRECTORY); }
static int nothing(void) { return open("/dev/null", O_RDWR); }
static int zeroes(void) { return open("/dev/zero", O_RDWR | O_NONBLOCK); }
static int event_zero(void) { return eventfd(0, EFD_NONBLOCK); }
static int event_counts(void) { return eventfd(3, EFD_NONBLOCK); }

static int watching(int (*make)(void), uint32_t events)
{
	int epoll = epoll_create1(0), fd = make();
	struct epoll_event event = { .events = events, .data.u64 = 0x1234567890 };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		return -2;
	close(other);
	other = fd;
	return epoll;
}

static int epoll_idle(void) { return watching(pipe_empty, EPOLLIN); }
static int epoll_held(void) { return watching(pair_held, EPOLLIN | EPOLLOUT); }
static int epoll_once(void) { return watching(pair_held, EPOLLIN | EPOLLONESHOT); }
static int epoll_edge(void) { return watching(pair_held, EPOLLIN | EPOLLET); }

static const struct {
	const char *name;
	int (*make)(void);
} states[] = {
#define STATE(name) { #name, name }
	STATE(closed), STATE(negative), STATE(pipe_empty), STATE(pipe_held), STATE(pipe_held_at_once),
	STATE(pipe_ended), STATE(pipe_at_end), STATE(pipe_to), STATE(pipe_to_blocking), STATE(pipe_full),
	STATE(pipe_broken), STATE(pipe_broken_blocking), STATE(pair_empty), STATE(pair_held), STATE(pair_held_at_once),
	STATE(pair_full), STATE(pair_ended), STATE(pair_at_end), STATE(pair_read_shut), STATE(pair_write_shut),
	STATE(file_both), STATE(file_at_once), STATE(file_appends), STATE(file_to_read), STATE(directory),
	STATE(nothing), STATE(zeroes), STATE(event_zero), STATE(event_counts), STATE(epoll_idle), STATE(epoll_held),
	STATE(epoll_once), STATE(epoll_edge),
};

/* --- calls, each in both ways; `variant` chooses among sizes, flags and the like --- */

static char buffer[ROOM];
static const size_t sizes[] = { 0, 1, 8, ROOM, (size_t)SSIZE_MAX + 1, SIZE_MAX };
static const int read_flags[] = { 0, MSG_DONTWAIT, MSG_PEEK, MSG_OOB, MSG_DONTWAIT | MSG_NOSIGNAL, MSG_TRUNC };
static const int write_flags[] = { 0, MSG_DONTWAIT, MSG_NOSIGNAL, MSG_MORE, MSG_OOB, MSG_NOSIGNAL | MSG_DONTWAIT };

enum { VARIANTS = 6 };

static struct iovec vectors[2] = { { buffer, 3 }, { buffer + 3, ROOM - 3 } };
static const int vector_counts[VARIANTS] = { 0, 1, 2, -1, IOV_MAX + 1, 2 };

/* Two watches may be asked for; room and time that end at once. */
static const int rooms[VARIANTS] = { 1, 2, 0, -1, 2, 1 }, timeouts[VARIANTS] = { 0, 0, 0, 0, 1, 1 };

static long call(unsigned number, bool direct, int fd, unsigned v)
{
	struct epoll_event *events = (struct epoll_event *)buffer;

	switch (number) {
	case SYS_read: return direct ? read(fd, buffer, sizes[v]) : syscall(SYS_read, fd, buffer, sizes[v]);
	case SYS_write: return direct ? write(fd, buffer, sizes[v]) : syscall(SYS_write, fd, buffer, sizes[v]);
	case SYS_readv:
		return direct ? readv(fd, vectors, vector_counts[v])
		       : syscall(SYS_readv, fd, vectors, vector_counts[v]);
	case SYS_writev:
		return direct ? writev(fd, vectors, vector_counts[v])
		       : syscall(SYS_writev, fd, vectors, vector_counts[v]);
	case SYS_recvfrom:
		return direct ? recv(fd, buffer, ROOM, read_flags[v])
		       : syscall(SYS_recvfrom, fd, buffer, ROOM, read_flags[v], 0, 0);
	case SYS_sendto:
		return direct ? send(fd, buffer, ROOM, write_flags[v])
		       : syscall(SYS_sendto, fd, buffer, ROOM, write_flags[v], 0, 0);
	default:
		return direct ? epoll_wait(fd, events, rooms[v], timeouts[v])
			      : syscall(SYS_epoll_pwait, fd, events, rooms[v], timeouts[v], 0, 8);
	}
}

static const unsigned calls[] = { SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_recvfrom, SYS_sendto,
                                  SYS_epoll_pwait };

struct outcome {
	long result, again; /* of the same call, twice */
	int error, ready, ready_other;
	off_t offset;
	char content[ROOM];
};

static struct outcome observe(int (*make)(void), unsigned number, bool direct, unsigned variant)
{
	struct outcome o;

	memset(&o, 0, sizeof(o));
	memset(buffer, 'b', sizeof(buffer));
	other = -1;
	const int fd = make();
	if (fd >= 0 && fd != CLOSED && number == SYS_epoll_pwait && variant == VARIANTS - 1)
		fcntl(fd, F_SETFL, O_NONBLOCK);
	errno = 0;
	o.result = call(number, direct, fd, variant);
	o.error = errno;
	memcpy(o.content, buffer, ROOM);
	/* The state after the first call: a second one would have to wait on a blocking descriptor, but never for no
	 * time. */
	struct pollfd looks[2] = { { .fd = fd, .events = POLLIN | POLLOUT },
	                           { .fd = other, .events = POLLIN | POLLOUT } };
	poll(looks, 2, 0);
	o.ready = looks[0].revents;
	o.ready_other = looks[1].revents;
	o.offset = lseek(fd, 0, SEEK_CUR);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	o.again = call(number, direct, fd, variant);
	close(fd);
	close(other);
	return o;
}

TEST(same_both_ways, "direct calls and system calls agree")
{
	unsigned differ = 0;

	for (unsigned s = 0; s < sizeof(states) / sizeof(states[0]); s++)
		for (unsigned c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
			for (unsigned v = 0; v < VARIANTS; v++) {
				struct outcome a = observe(states[s].make, calls[c], true, v);
				struct outcome b = observe(states[s].make, calls[c], false, v);
				if (!memcmp(&a, &b, sizeof(a)))
					continue;
				printf("# call %u, variant %u, %s: %ld (%d), by number %ld (%d)\n", calls[c], v,
				       states[s].name, a.result, a.error, b.result, b.error);
				differ++;
			}
	CHECK(differ == 0);
	return true;
}

/* The states are what they are named after: the comparison above would not notice if none of them could be made. */
TEST(expected_results, "direct calls have their results")
{
	int fd = pipe_empty();

	CHECK(read(fd, buffer, 1) == -1 && errno == EAGAIN);
	CHECK(write(fd, buffer, 1) == -1 && errno == EBADF);
	CHECK(recv(fd, buffer, 1, 0) == -1 && errno == ENOTSOCK);
	CHECK(epoll_wait(fd, (struct epoll_event *)buffer, 1, 0) == -1 && errno == EINVAL);
	close(fd), close(other);
	fd = pair_held();
	CHECK(recv(fd, buffer, 4, MSG_DONTWAIT) == 4 && !memcmp(buffer, "abcd", 4));
	CHECK(readv(fd, vectors, 1) == 2 && !memcmp(buffer, "efcd", 4));
	CHECK(send(fd, "xyz", 3, MSG_DONTWAIT | MSG_NOSIGNAL) == 3 && read(other, buffer, ROOM) == 3);
	close(other);
	CHECK(send(fd, "xyz", 3, MSG_DONTWAIT) == -1 && errno == EPIPE);
	close(fd);
	fd = pair_full();
	CHECK(write(fd, buffer, ROOM) == -1 && errno == EAGAIN);
	close(fd), close(other);
	fd = epoll_held();
	struct epoll_event event;
	CHECK(epoll_wait(fd, &event, 1, -1) == 1 && event.data.u64 == 0x1234567890 && event.events & EPOLLIN);
	CHECK(epoll_create(0) >= 0 && epoll_wait(CLOSED, &event, 1, 0) == -1 && errno == EBADF);
	close(fd), close(other);
	return true;
}
