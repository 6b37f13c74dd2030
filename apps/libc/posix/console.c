/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Standard output and error: lines for the manager's console. Nothing can be
 * typed: standard input is at its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <skerry/process.h>
#include "family.h"
#include "layer.h"
#include "platform.h"

void console_write(const char *text, size_t size)
{
	while (size) {
		size_t n = size < MANAGER_BYTES ? size : MANAGER_BYTES;
		platform_write(text, n);
		text += n;
		size -= n;
	}
}

static ssize_t read_nothing(struct file *file, void *buffer, size_t size)
{
	(void)file, (void)buffer, (void)size;
	return 0;
}

/* stdio writes a line in two pieces; together they stay one message and one line. */
static ssize_t writev_console(struct file *file, const struct iovec *iov, int count)
{
	char line[MANAGER_BYTES];
	size_t held = 0, total = 0;

	(void)file;
	for (int i = 0; i < count; i++) {
		const char *from = iov[i].iov_base;
		size_t left = iov[i].iov_len;
		total += left;
		while (left) {
			size_t n = left < sizeof(line) - held ? left : sizeof(line) - held;
			memcpy(line + held, from, n);
			held += n;
			from += n;
			left -= n;
			if (held == sizeof(line)) {
				console_write(line, held);
				held = 0;
			}
		}
	}
	console_write(line, held);
	return (ssize_t)total;
}

static ssize_t write_console(struct file *file, const void *text, size_t size)
{
	(void)file;
	console_write(text, size);
	return (ssize_t)size;
}

static int stat_console(struct file *file, struct stat *st)
{
	(void)file;
	st->st_mode = S_IFCHR | 0620;
	st->st_blksize = 1024;
	return 0;
}

static const struct file_operations console_ops = {
	.name = "console",
	.read = read_nothing,
	.write = write_console,
	.writev = writev_console,
	.stat = stat_console,
};

#ifdef LAYER_FAMILY
bool console_is(const struct file *file) { return file->ops == &console_ops; }
#endif

struct file *console_file(uint32_t flags)
{
	struct file *file = layer_allocate(sizeof(*file));

	if (file) {
		file_init(file, &console_ops, flags & (O_ACCMODE | O_NONBLOCK));
		file->ready = ALWAYS_READY;
	}
	return file;
}

void console_log(const char *format, ...)
{
	char line[256];
	struct text text = { .data = line, .size = sizeof(line) - 1 };
	va_list args;

	va_start(args, format);
	text_vformat(&text, format, args);
	va_end(args);
	line[text.length++] = '\n';
	console_write(line, text.length);
}
