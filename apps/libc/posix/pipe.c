/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include "byte-ring.h"
#include "family.h"
#include "layer.h"
#include "family-stream.h"

#ifndef LAYER_FAMILY /* else both ends are streams (family-stream.h) */

struct pipe_end {
	struct file file;
	struct pipe *pipe;
};

struct pipe {
	struct pipe_end *reader, *writer; /* null when closed */
	struct byte_ring bytes;
};

enum { ALL = -1 }; /* events */

/* `again`: what the reader, or the writer where there is none, is told of though it was so before: an edge of epoll. */
static void pipe_update(struct pipe *p, uint32_t again)
{
	if (p->reader)
		file_ready_again(&p->reader->file,
		                 (byte_ring_held(&p->bytes) ? EPOLLIN : 0) | (p->writer ? 0 : EPOLLHUP), again);
	if (p->writer)
		file_ready_again(&p->writer->file,
		                 (byte_ring_room(&p->bytes) >= BYTE_RING_ATOMIC ? EPOLLOUT : 0) |
		                 (p->reader ? 0 : EPOLLERR), p->reader ? 0 : again);
}

static ssize_t pipe_read(struct file *file, void *buffer, size_t size)
{
	struct pipe *p = ((struct pipe_end *)file)->pipe;

	if (!byte_ring_held(&p->bytes))
		return p->writer ? -EAGAIN : 0;
	size = byte_ring_read(&p->bytes, buffer, size);
	pipe_update(p, 0);
	return (ssize_t)size;
}

/* Up to BYTE_RING_ATOMIC bytes are written whole or not at all. */
static ssize_t pipe_write(struct file *file, const void *buffer, size_t size)
{
	struct pipe *p = ((struct pipe_end *)file)->pipe;
	size_t room = byte_ring_room(&p->bytes);

	if (!p->reader)
		return -EPIPE;
	if (!room || (size <= BYTE_RING_ATOMIC && size > room))
		return -EAGAIN;
	size = byte_ring_write(&p->bytes, buffer, size);
	pipe_update(p, EPOLLIN);
	return (ssize_t)size;
}

#endif

static int pipe_stat(struct file *file, struct stat *st)
{
	(void)file;
	st->st_mode = S_IFIFO | 0600;
	st->st_blksize = BYTE_RING_ATOMIC;
	return 0;
}

#ifdef LAYER_FAMILY

static int shared_ioctl(struct file *file, unsigned long request, void *argument)
{
	if (request != FIONREAD)
		return -ENOTTY;
	*(int *)argument = (int)family_stream_held((struct stream *)file);
	return 0;
}

static const struct file_operations read_end = {
	.name = "pipe", .read = family_stream_read, .stat = pipe_stat, .ioctl = shared_ioctl,
	.close = family_stream_close,
};
static const struct file_operations write_end = {
	.name = "pipe", .write = family_stream_write, .stat = pipe_stat, .ioctl = shared_ioctl,
	.close = family_stream_close,
};

bool pipe_is(const struct file *file) { return file->ops == &read_end || file->ops == &write_end; }

struct file *pipe_inherit(uint32_t flags, const int64_t rings[2])
{
	return (rings[0] < 0) == (rings[1] < 0) ? 0
	       : family_stream_inherit(rings[0] < 0 ? &write_end : &read_end, flags, rings);
}

long sys_pipe2(const long *a)
{
	struct stream *made[2];
	const int error = family_stream_pair(&read_end, &write_end, (uint32_t)a[1] & O_NONBLOCK, false, made);

	return error ? error : descriptors_open(&made[0]->file, &made[1]->file, (int *)a[0]);
}

#else

/* for either end */
static int pipe_ioctl(struct file *file, unsigned long request, void *argument)
{
	if (request != FIONREAD)
		return -ENOTTY;
	*(int *)argument = (int)byte_ring_held(&((struct pipe_end *)file)->pipe->bytes);
	return 0;
}

static void pipe_close(struct file *file)
{
	struct pipe_end *end = (struct pipe_end *)file;
	struct pipe *p = end->pipe;

	require(p->reader == end || p->writer == end);
	if (p->reader == end)
		p->reader = 0;
	else
		p->writer = 0;
	layer_free(end);
	if (p->reader || p->writer)
		pipe_update(p, (uint32_t)ALL);
	else
		layer_free(p);
}

static const struct file_operations read_end = {
	.name = "pipe", .read = pipe_read, .stat = pipe_stat, .ioctl = pipe_ioctl, .close = pipe_close,
};
static const struct file_operations write_end = {
	.name = "pipe", .write = pipe_write, .stat = pipe_stat, .ioctl = pipe_ioctl, .close = pipe_close,
};

static struct file *add_end(struct pipe_end **place, struct pipe *p, const struct file_operations *ops, int flags)
{
	struct pipe_end *end = layer_allocate(sizeof(*end));

	if (end) {
		file_init(&end->file, ops, (uint32_t)flags);
		end->pipe = p;
	}
	return (struct file *)(*place = end);
}

long sys_pipe2(const long *a)
{
	const int flags = (int)a[1] & O_NONBLOCK;
	struct pipe *p = layer_allocate(sizeof(*p));

	if (!p)
		return -ENOMEM;
	struct file *reader = add_end(&p->reader, p, &read_end, O_RDONLY | flags);
	struct file *writer = add_end(&p->writer, p, &write_end, O_WRONLY | flags);
	if (!reader || !writer) {
		layer_free(p->reader);
		layer_free(p->writer);
		layer_free(p);
		return -ENOMEM;
	}
	pipe_update(p, 0);
	return descriptors_open(reader, writer, (int *)a[0]);
}

#endif

long sys_pipe(const long *a) { return sys_pipe2((const long[]){ a[0], 0 }); }
