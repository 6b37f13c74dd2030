/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a path leads, and the directory where those that are not absolute begin. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <skerry/process.h>
#include "platform.h"
#include "ramfs.h"

static struct ramfs_node *current;

/* Keeps `node` as the working directory. */
static void set_current(struct ramfs_node *node)
{
	struct ramfs_node *before = current;

	node->opened++;
	current = node;
	if (before)
		ramfs_release(before);
}

static struct ramfs_node *working_directory(void)
{
	struct place start;

	if (!current) {
		const char *path = (const char *)platform_info()->cwd;
		bool is_folder = path && !path_walk(ramfs_root(), path, &start) && start.node &&
		                 S_ISDIR(start.node->mode);
		if (path && !is_folder)
			console_log("posix: cannot start in %s: it is no directory", path);
		set_current(is_folder ? start.node : ramfs_root());
	}
	return current;
}

/* One step from a directory; *node is null where it has no such entry. */
static int path_step(struct ramfs_node *directory, const char *name, size_t length, struct ramfs_node **node)
{
	if (!S_ISDIR(directory->mode))
		return -ENOTDIR;
	if (!ramfs_is_linked(directory))
		return -ENOENT;
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	return ramfs_child(directory, name, length, node);
}

int path_walk(struct ramfs_node *from, const char *path, struct place *out)
{
	*out = (struct place){ .directory = from, .node = from };
	for (size_t length; *(path += strspn(path, "/")); path += length) {
		struct ramfs_node *directory = out->node;

		length = strcspn(path, "/");
		if (!directory)
			return -ENOENT;
		out->slash = path[length];
		out->name = 0;
		if (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.'))) {
			if (!S_ISDIR(directory->mode))
				return -ENOTDIR;
			if (!ramfs_is_linked(directory))
				return -ENOENT;
			out->node = length == 1 ? directory : directory->parent;
			continue;
		}
		int error = path_step(directory, path, length, &out->node);
		if (error)
			return error;
		out->directory = directory;
		out->name = path;
		out->length = length;
	}
	return out->node && out->slash && !S_ISDIR(out->node->mode) ? -ENOTDIR : 0;
}

int path_find(int directory_fd, const char *path, struct place *out)
{
	struct ramfs_node *from;

	if (!path)
		return -EFAULT;
	if (!*path)
		return -ENOENT;
	if (strnlen(path, PATH_MAX) == PATH_MAX)
		return -ENAMETOOLONG;
	if (*path == '/') {
		from = ramfs_root();
	} else if (directory_fd == AT_FDCWD) {
		from = working_directory();
	} else {
		struct file *file = descriptor_file(directory_fd);

		if (!file)
			return -EBADF;
		from = ramfs_node_of(file);
		if (!from || !S_ISDIR(from->mode))
			return -ENOTDIR;
	}
	return path_walk(from, path, out);
}

int path_node(int directory_fd, const char *path, struct ramfs_node **out)
{
	struct place there;
	int error = path_find(directory_fd, path, &there);

	*out = error ? 0 : there.node;
	return error ? error : *out ? 0 : -ENOENT;
}

static long change_directory(struct ramfs_node *node)
{
	if (!S_ISDIR(node->mode))
		return -ENOTDIR;
	set_current(node);
	return 0;
}

long sys_chdir(const long *a)
{
	struct ramfs_node *node;
	int error = path_node(AT_FDCWD, (const char *)a[0], &node);

	return error ? error : change_directory(node);
}

long sys_fchdir(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);
	struct ramfs_node *node = file ? ramfs_node_of(file) : 0;

	return !file ? -EBADF : !node ? -ENOTDIR : change_directory(node);
}

/* From the last component to the first, which then moves to the front. */
long sys_getcwd(const long *a)
{
	char path[PATH_MAX];
	size_t at = sizeof(path) - 1;

	path[at] = 0;
	for (const struct ramfs_node *node = working_directory(); node != ramfs_root(); node = node->parent) {
		const size_t length = strlen(node->name);

		if (!ramfs_is_linked(node))
			return -ENOENT;
		if (length + 1 > at)
			return -ENAMETOOLONG;
		at -= length + 1;
		path[at] = '/';
		memcpy(path + at + 1, node->name, length);
	}
	if (!path[at])
		path[--at] = '/';
	if ((size_t)a[1] < sizeof(path) - at)
		return -ERANGE;
	memcpy((char *)a[0], path + at, sizeof(path) - at);
	return (long)(sizeof(path) - at);
}
