/* SPDX-License-Identifier: BSD-2-Clause */
/* The few devices that programs expect under /dev. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "family.h"
#include "layer.h"

static ssize_t null_read(struct file *f, void *b, size_t n) { (void)f, (void)b, (void)n; return 0; }
static ssize_t null_write(struct file *f, const void *b, size_t n) { (void)f, (void)b; return (ssize_t)n; }
static ssize_t zero_read(struct file *f, void *b, size_t n) { (void)f; memset(b, 0, n); return (ssize_t)n; }
static ssize_t random_read(struct file *f, void *b, size_t n) { (void)f; random_bytes(b, n); return (ssize_t)n; }
static off_t no_seek(struct file *f, off_t offset, int whence) { (void)f, (void)offset, (void)whence; return 0; }

static int device_stat(struct file *file, struct stat *st)
{
	(void)file;
	st->st_mode = S_IFCHR | 0666;
	st->st_blksize = PAGE;
	return 0;
}

static const struct file_operations null_ops = {
	.name = "null", .read = null_read, .write = null_write, .seek = no_seek, .stat = device_stat,
};
static const struct file_operations zero_ops = {
	.name = "zero", .read = zero_read, .write = null_write, .seek = no_seek, .stat = device_stat,
};
static const struct file_operations random_ops = {
	.name = "random", .read = random_read, .write = null_write, .seek = no_seek, .stat = device_stat,
};

static const struct {
	const char *path;
	const struct file_operations *ops; /* null: the console */
} devices[] = {
	{ "/dev/null", &null_ops },     { "/dev/zero", &zero_ops },
	{ "/dev/urandom", &random_ops }, { "/dev/random", &random_ops },
	{ "/dev/console", 0 },          { "/dev/stdin", 0 },
	{ "/dev/stdout", 0 },           { "/dev/stderr", 0 },
};

enum { DEVICES = sizeof(devices) / sizeof(devices[0]) };

const char *device_path(unsigned number, uint32_t *mode)
{
	*mode = number <= DEVICES ? S_IFCHR | 0666 : S_IFREG | 0444;
	return number <= DEVICES ? devices[number - 1].path : proc_path(number - DEVICES - 1);
}

int device_open(unsigned number, int flags, struct file **out)
{
	if (number > DEVICES)
		return proc_open(number - DEVICES - 1, flags, out);
	const struct file_operations *ops = devices[number - 1].ops;
	if (!ops) {
		*out = console_file((uint32_t)flags);
	} else if ((*out = layer_allocate(sizeof(**out)))) {
		file_init(*out, ops, (uint32_t)flags & (O_ACCMODE | O_NONBLOCK | O_APPEND));
		(*out)->ready = ALWAYS_READY;
	}
	return *out ? 0 : -ENOMEM;
}

#ifdef LAYER_FAMILY
bool device_is(const struct file *file, char *path)
{
	for (unsigned i = 0; i < DEVICES; i++)
		if (devices[i].ops ? file->ops == devices[i].ops : console_is(file)) {
			strcpy(path, devices[i].path);
			return true;
		}
	return false;
}
#endif
