/* SPDX-License-Identifier: BSD-2-Clause */
/* Open files of the RAM file system. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "ramfs.h"

struct ramfs_file {
	struct file file;
	struct ramfs_node *node;
	size_t position; /* of a directory: how many entries were given */
};

static struct ramfs_node *node_of(struct file *file) { return ((struct ramfs_file *)file)->node; }

static void touch(struct ramfs_node *node)
{
	int64_t clock_realtime_offset(void);

	node->changed = clock_nanoseconds() + (uint64_t)clock_realtime_offset();
}

static ssize_t read_file(struct file *file, void *buffer, size_t size)
{
	struct ramfs_file *f = (struct ramfs_file *)file;
	ssize_t n = S_ISDIR(f->node->mode) ? -EISDIR : ramfs_read(f->node, buffer, size, f->position);

	if (n > 0)
		f->position += (size_t)n;
	return n;
}

static ssize_t write_file(struct file *file, const void *buffer, size_t size)
{
	struct ramfs_file *f = (struct ramfs_file *)file;

	if (file->flags & O_APPEND)
		f->position = f->node->size;
	ssize_t n = ramfs_write(f->node, buffer, size, f->position);
	if (n > 0) {
		f->position += (size_t)n;
		touch(f->node);
	}
	return n;
}

static off_t seek_file(struct file *file, off_t offset, int whence)
{
	struct ramfs_file *f = (struct ramfs_file *)file;
	off_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (off_t)f->position : (off_t)f->node->size;

	if (whence < SEEK_SET || whence > SEEK_END || base + offset < 0)
		return -EINVAL;
	return (off_t)(f->position = (size_t)(base + offset));
}

static int stat_file(struct file *file, struct stat *st)
{
	ramfs_stat(node_of(file), st);
	return 0;
}

static int truncate_file(struct file *file, off_t size)
{
	if (size < 0 || S_ISDIR(node_of(file)->mode))
		return -EINVAL;
	touch(node_of(file));
	return ramfs_resize(node_of(file), (size_t)size);
}

/* One linux_dirent64, or 0 when it does not fit. */
static size_t put_entry(char *at, size_t room, const char *name, const struct ramfs_node *node, size_t next)
{
	struct dirent *entry = (struct dirent *)at;
	size_t name_length = strlen(name);
	size_t length = (offsetof(struct dirent, d_name) + name_length + 1 + 7) & ~7ul;

	if (length > room)
		return 0;
	memset(at, 0, length);
	entry->d_ino = node->inode;
	entry->d_off = (off_t)next;
	entry->d_reclen = (unsigned short)length;
	entry->d_type = S_ISDIR(node->mode) ? DT_DIR : DT_REG;
	memcpy(at + offsetof(struct dirent, d_name), name, name_length);
	return length;
}

static ssize_t directory_entries(struct file *file, void *buffer, size_t size)
{
	struct ramfs_file *f = (struct ramfs_file *)file;
	size_t index = 0, held = 0;

	if (!S_ISDIR(f->node->mode))
		return -ENOTDIR;
	for (struct ramfs_node *node = ramfs_first(); node; node = node->next) {
		if (!ramfs_is_child(node, f->node->path) || index++ < f->position)
			continue;
		size_t n = put_entry((char *)buffer + held, size - held, strrchr(node->path, '/') + 1, node, index);
		if (!n)
			return held ? (ssize_t)held : -EINVAL;
		held += n;
		f->position = index;
	}
	return (ssize_t)held;
}

static void close_file(struct file *file)
{
	ramfs_release(node_of(file));
	layer_free(file);
}

static const struct file_operations ramfs_ops = {
	.name = "file",
	.read = read_file,
	.write = write_file,
	.seek = seek_file,
	.stat = stat_file,
	.truncate = truncate_file,
	.entries = directory_entries,
	.close = close_file,
};

int ramfs_open(const char *path, int flags, unsigned mode, struct file **out)
{
	struct ramfs_node *node = ramfs_find(path);
	bool writes = (flags & O_ACCMODE) != O_RDONLY;

	if (node && (flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	if (node && S_ISDIR(node->mode) && writes)
		return -EISDIR;
	if (node && !S_ISDIR(node->mode) && flags & O_DIRECTORY)
		return -ENOTDIR;
	if (!node) {
		int error = flags & O_CREAT ? path_parent_check(path) : -ENOENT;
		if (error)
			return error;
		if (!(node = ramfs_create(path, S_IFREG | (mode & 0777))))
			return -ENOSPC;
	}
	struct ramfs_file *f = layer_allocate(sizeof(*f));
	if (!f)
		return -ENOMEM;
	file_init(&f->file, &ramfs_ops, (uint32_t)flags & (O_ACCMODE | O_APPEND | O_NONBLOCK));
	f->file.ready = ALWAYS_READY;
	f->node = node;
	node->opened++;
	if (flags & O_TRUNC && writes)
		truncate_file(&f->file, 0);
	*out = &f->file;
	return 0;
}
