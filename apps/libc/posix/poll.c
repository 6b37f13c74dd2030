/* SPDX-License-Identifier: BSD-2-Clause */
/* poll and select: look at every file, and again after each event. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include "layer.h"

/* poll's bits are epoll's; the layer keeps only the plain ones. */
static short poll_bits(uint32_t ready)
{
	return (short)(ready | (ready & EPOLLIN ? POLLRDNORM : 0) | (ready & EPOLLOUT ? POLLWRNORM : 0));
}

static int poll_once(struct pollfd *fds, unsigned count)
{
	int ready_count = 0;

	for (unsigned i = 0; i < count; i++) {
		fds[i].revents = 0;
		if (fds[i].fd < 0)
			continue;
		struct file *file = descriptor_file(fds[i].fd);
		fds[i].revents = file ? poll_bits(file->ready) & (fds[i].events | POLLERR | POLLHUP) : POLLNVAL;
		ready_count += fds[i].revents != 0;
	}
	return ready_count;
}

static long poll_until(struct pollfd *fds, unsigned count, bool wait, uint64_t deadline)
{
	if (count > (unsigned)descriptor_count_max())
		return -EINVAL;
	event_poll();
	int ready_count = poll_once(fds, count);
	int error = 0;
	while (!ready_count && wait && !(error = event_sleep(deadline)))
		ready_count = poll_once(fds, count);
	return error == -EINTR ? -EINTR : ready_count;
}

long sys_poll(const long *a)
{
	int timeout = (int)a[2];
	uint64_t deadline = timeout > 0 ? deadline_after((uint64_t)timeout * 1000000) : 0;

	return poll_until((struct pollfd *)a[0], (unsigned)a[1], timeout != 0, deadline);
}

static bool is_zero(const struct timespec *t) { return t && !t->tv_sec && !t->tv_nsec; }

long sys_ppoll(const long *a)
{
	const struct timespec *t = (const struct timespec *)a[2];

	if (t && !timespec_valid(t))
		return -EINVAL;
	return poll_until((struct pollfd *)a[0], (unsigned)a[1], !is_zero(t), deadline_after_timespec(t));
}

static int look_sets(int count, const fd_set in[3], fd_set out[3])
{
	static const uint32_t events[3] = { EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP, EPOLLOUT | EPOLLERR, EPOLLPRI };
	int ready_count = 0;

	memset(out, 0, 3 * sizeof(*out));
	for (int fd = 0; fd < count; fd++)
		for (int set = 0; set < 3; set++) {
			if (!FD_ISSET(fd, &in[set]))
				continue;
			struct file *file = descriptor_file(fd);
			if (!file)
				return -EBADF;
			if (file->ready & events[set]) {
				FD_SET(fd, &out[set]);
				ready_count++;
			}
		}
	return ready_count;
}

static long select_until(int count, fd_set *sets[3], bool wait, uint64_t deadline)
{
	fd_set in[3], out[3];

	if (count < 0)
		return -EINVAL;
	if (count > FD_SETSIZE)
		count = FD_SETSIZE;
	memset(in, 0, sizeof(in));
	for (int set = 0; set < 3; set++)
		if (sets[set])
			in[set] = *sets[set];
	event_poll();
	int ready_count = look_sets(count, in, out);
	int error = 0;
	while (!ready_count && wait && !(error = event_sleep(deadline)))
		ready_count = look_sets(count, in, out);
	if (error == -EINTR)
		return -EINTR;
	for (int set = 0; set < 3 && ready_count >= 0; set++)
		if (sets[set])
			*sets[set] = out[set];
	return ready_count;
}

long sys_pselect6(const long *a)
{
	const struct timespec *t = (const struct timespec *)a[4];
	fd_set *sets[3] = { (fd_set *)a[1], (fd_set *)a[2], (fd_set *)a[3] };

	if (t && !timespec_valid(t))
		return -EINVAL;
	return select_until((int)a[0], sets, !is_zero(t), deadline_after_timespec(t));
}

long sys_select(const long *a)
{
	const struct timeval *t = (const struct timeval *)a[4];
	struct timespec as_timespec = { t ? t->tv_sec : 0, t ? t->tv_usec * 1000 : 0 };

	return sys_pselect6((const long[]){ a[0], a[1], a[2], a[3], t ? (long)&as_timespec : 0, 0 });
}
