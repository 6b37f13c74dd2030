/* SPDX-License-Identifier: BSD-2-Clause */
/* eventfd(2): a counter that one thread adds to and another takes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "layer.h"

#define COUNT_MAX (UINT64_MAX - 1)

struct eventfd {
	struct file file;
	uint64_t count;
	bool semaphore; /* a read takes 1, not all */
	bool full;      /* a write found no room: nobody else is to try before the next read */
};

/* `again`: what is an edge of epoll though it was so before. */
static void eventfd_update(struct eventfd *e, uint32_t again)
{
	file_ready_again(&e->file, (e->count ? EPOLLIN : 0) | (e->count < COUNT_MAX && !e->full ? EPOLLOUT : 0), again);
}

static ssize_t counter_take(struct file *file, void *buffer, size_t size)
{
	struct eventfd *e = (struct eventfd *)file;
	uint64_t taken = e->semaphore ? 1 : e->count;

	if (size < sizeof(taken))
		return -EINVAL;
	if (!e->count)
		return -EAGAIN;
	memcpy(buffer, &taken, sizeof(taken));
	require(taken && taken <= e->count && e->count <= COUNT_MAX);
	e->count -= taken;
	e->full = false;
	eventfd_update(e, EPOLLOUT);
	return sizeof(taken);
}

static ssize_t counter_add(struct file *file, const void *buffer, size_t size)
{
	struct eventfd *e = (struct eventfd *)file;
	uint64_t added;

	if (size < sizeof(added))
		return -EINVAL;
	memcpy(&added, buffer, sizeof(added));
	if (added == UINT64_MAX)
		return -EINVAL;
	e->full = added > COUNT_MAX - e->count;
	if (!e->full)
		e->count += added;
	eventfd_update(e, e->full ? 0 : EPOLLIN);
	return e->full ? -EAGAIN : (ssize_t)sizeof(added);
}

static int stat_of(struct file *file, struct stat *st)
{
	(void)file;
	st->st_mode = 0600;
	st->st_blksize = PAGE;
	return 0;
}

static const struct file_operations eventfd_ops = {
	.name = "eventfd", .write_most = sizeof(uint64_t), .read = counter_take, .write = counter_add, .stat = stat_of,
};

long sys_eventfd2(const long *a)
{
	const int flags = (int)a[1];
	struct eventfd *e;

	if (flags & ~(EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC))
		return -EINVAL;
	e = layer_allocate(sizeof(*e));
	if (!e)
		return -ENOMEM;
	file_init(&e->file, &eventfd_ops, (uint32_t)(O_RDWR | (flags & EFD_NONBLOCK ? O_NONBLOCK : 0)));
	e->count = (unsigned)a[0];
	e->semaphore = flags & EFD_SEMAPHORE;
	e->full = false;
	eventfd_update(e, 0);
	return descriptor_open(&e->file, 0);
}

long sys_eventfd(const long *a) { return sys_eventfd2((const long[]){ a[0], 0 }); }
