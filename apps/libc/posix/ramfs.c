/* SPDX-License-Identifier: BSD-2-Clause */
/* Open files of the RAM file system. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <skerry/file_tree.h>
#include "ramfs.h"

enum { OWN = 1, PARENT = 2 }; /* orders of "." and ".." */

struct ramfs_file {
	struct file file;
	struct ramfs_node *node;
	size_t position; /* of a directory: the order of the last entry that was given */
};

static struct ramfs_node *node_of(struct file *file) { return ((struct ramfs_file *)file)->node; }

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
		ramfs_touch(f->node);
	}
	return n;
}

static off_t seek_file(struct file *file, off_t offset, int whence)
{
	struct ramfs_file *f = (struct ramfs_file *)file;
	off_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (off_t)f->position : (off_t)f->node->size;
	off_t result;

	if (whence < SEEK_SET || whence > SEEK_END)
		return -EINVAL;
	if (__builtin_add_overflow(base, offset, &result))
		return -EOVERFLOW;
	return result < 0 ? -EINVAL : (off_t)(f->position = (size_t)result);
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
	ramfs_touch(node_of(file));
	return ramfs_resize(node_of(file), (size_t)size);
}

/* One linux_dirent64, or 0 when it does not fit. */
static size_t put_entry(char *at, size_t room, const char *name, const struct ramfs_node *node, uint64_t order)
{
	struct dirent *entry = (struct dirent *)at;
	size_t name_length = strlen(name);
	size_t length = (offsetof(struct dirent, d_name) + name_length + 1 + 7) & ~7ul;

	if (length > room)
		return 0;
	require(name_length && name_length < sizeof(entry->d_name));
	memset(at, 0, length);
	entry->d_ino = node->inode;
	entry->d_off = (off_t)order;
	entry->d_reclen = (unsigned short)length;
	entry->d_type = S_ISDIR(node->mode) ? DT_DIR : S_ISCHR(node->mode) ? DT_CHR : DT_REG;
	memcpy(at + offsetof(struct dirent, d_name), name, name_length);
	return length;
}

static bool put_next(struct ramfs_file *f, char *buffer, size_t size, size_t *held, const char *name,
                     const struct ramfs_node *node, uint64_t order)
{
	size_t n = put_entry(buffer + *held, size - *held, name, node, order);

	*held += n;
	if (n)
		f->position = order;
	return n;
}

static ssize_t directory_entries(struct file *file, void *buffer, size_t size)
{
	struct ramfs_file *f = (struct ramfs_file *)file;
	struct ramfs_node *node = f->node;
	size_t held = 0;

	if (!S_ISDIR(node->mode))
		return -ENOTDIR;
	if (!ramfs_is_linked(node))
		return 0;
	if (ramfs_image_fill(node))
		return -ENOMEM;
	for (uint64_t order = OWN; order <= PARENT; order++)
		if (f->position < order && !put_next(f, buffer, size, &held, order == OWN ? "." : "..",
		                                     order == OWN ? node : node->parent, order))
			return held ? (ssize_t)held : -EINVAL;
	for (struct ramfs_node *entry = ramfs_entry_after(node, f->position); entry; entry = ramfs_entry_next(entry))
		if (!put_next(f, buffer, size, &held, entry->name, ramfs_named(entry), entry->order))
			return held ? (ssize_t)held : -EINVAL;
	return (ssize_t)held;
}

static int ioctl_file(struct file *file, unsigned long request, void *argument)
{
	const struct ramfs_file *f = (struct ramfs_file *)file;

	if (request != FIONREAD || !S_ISREG(f->node->mode))
		return -ENOTTY;
	*(int *)argument = (int)(f->node->size - f->position); /* on Linux below zero, too, behind the end */
	return 0;
}

static void close_file(struct file *file)
{
	ramfs_release(node_of(file));
	layer_free(file);
}

/* Maps a file that no program can change in place, for as long as the program runs. */
static bool map_file(struct file *file, off_t offset, size_t size, const void **at)
{
	const struct ramfs_node *node = node_of(file);
	const size_t there = node->size;
	const uintptr_t address = (uintptr_t)node->file.image + (size_t)offset;

	*at = 0;
	if (!node->read_only)
		return false;
	if (there >= FILE_TREE_ALIGNED && address % PAGE == 0 && (size_t)offset < there &&
	    size <= ((there + PAGE - 1) & -PAGE) - (size_t)offset)
		*at = (const void *)address;
	return true;
}

static const struct file_operations ramfs_ops = {
	.name = "file",
	.read = read_file,
	.write = write_file,
	.seek = seek_file,
	.stat = stat_file,
	.truncate = truncate_file,
	.entries = directory_entries,
	.map = map_file,
	.ioctl = ioctl_file,
	.close = close_file,
};

struct ramfs_node *ramfs_node_of(struct file *file) { return file->ops == &ramfs_ops ? node_of(file) : 0; }

int ramfs_open(struct ramfs_node *node, int flags, struct file **out)
{
	struct ramfs_file *f = layer_allocate(sizeof(*f));

	if (!f)
		return -ENOMEM;
	file_init(&f->file, &ramfs_ops, (uint32_t)flags & (O_ACCMODE | O_APPEND | O_NONBLOCK));
	f->file.ready = ALWAYS_READY;
	f->node = node;
	require(node->opened < RAMFS_OPENED && !node->special);
	node->opened++;
	if (flags & O_TRUNC && (flags & O_ACCMODE) != O_RDONLY)
		truncate_file(&f->file, 0);
	*out = &f->file;
	return 0;
}
