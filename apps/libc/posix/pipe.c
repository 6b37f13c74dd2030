/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include "layer.h"

enum { PIPE_SIZE = 16384, PIPE_ATOMIC = 4096 /* writes up to this are whole (PIPE_BUF) */ };

struct pipe_end {
	struct file file;
	struct pipe *pipe;
};

struct pipe {
	struct pipe_end *reader, *writer; /* null when closed */
	size_t head, tail;                /* bytes written and read so far */
	char buffer[PIPE_SIZE];
};

static void update(struct pipe *p)
{
	size_t held = p->head - p->tail;

	if (p->reader)
		file_ready_changed(&p->reader->file, (held ? EPOLLIN : 0) | (p->writer ? 0 : EPOLLHUP));
	if (p->writer)
		file_ready_changed(&p->writer->file,
		                   (PIPE_SIZE - held >= PIPE_ATOMIC ? EPOLLOUT : 0) | (p->reader ? 0 : EPOLLERR));
}

static ssize_t pipe_read(struct file *file, void *buffer, size_t size)
{
	struct pipe *p = ((struct pipe_end *)file)->pipe;
	size_t held = p->head - p->tail;

	if (!held)
		return p->writer ? -EAGAIN : 0;
	if (size > held)
		size = held;
	size_t first = PIPE_SIZE - p->tail % PIPE_SIZE;
	if (first > size)
		first = size;
	memcpy(buffer, p->buffer + p->tail % PIPE_SIZE, first);
	memcpy((char *)buffer + first, p->buffer, size - first);
	p->tail += size;
	update(p);
	return (ssize_t)size;
}

static ssize_t pipe_write(struct file *file, const void *buffer, size_t size)
{
	struct pipe *p = ((struct pipe_end *)file)->pipe;
	size_t room = PIPE_SIZE - (p->head - p->tail);

	if (!p->reader)
		return -EPIPE;
	if (!room || (size <= PIPE_ATOMIC && size > room))
		return -EAGAIN;
	if (size > room)
		size = room;
	size_t first = PIPE_SIZE - p->head % PIPE_SIZE;
	if (first > size)
		first = size;
	memcpy(p->buffer + p->head % PIPE_SIZE, buffer, first);
	memcpy(p->buffer, (const char *)buffer + first, size - first);
	p->head += size;
	update(p);
	return (ssize_t)size;
}

static int pipe_stat(struct file *file, struct stat *st)
{
	(void)file;
	st->st_mode = S_IFIFO | 0600;
	st->st_blksize = PIPE_ATOMIC;
	return 0;
}

static void pipe_close(struct file *file)
{
	struct pipe_end *end = (struct pipe_end *)file;
	struct pipe *p = end->pipe;

	if (p->reader == end)
		p->reader = 0;
	else
		p->writer = 0;
	layer_free(end);
	if (p->reader || p->writer)
		update(p);
	else
		layer_free(p);
}

static const struct file_operations read_end = { .name = "pipe", .read = pipe_read, .stat = pipe_stat, .close = pipe_close };
static const struct file_operations write_end = { .name = "pipe", .write = pipe_write, .stat = pipe_stat, .close = pipe_close };

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
	int *fds = (int *)a[0], flags = (int)a[1] & O_NONBLOCK;
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
	update(p);
	int in = descriptor_open(reader, 0);
	if (in < 0) {
		file_put(writer);
		return in;
	}
	int out = descriptor_open(writer, 0);
	if (out < 0) {
		sys_close((const long[]){ in });
		return out;
	}
	fds[0] = in;
	fds[1] = out;
	return 0;
}

long sys_pipe(const long *a) { return sys_pipe2((const long[]){ a[0], 0 }); }
