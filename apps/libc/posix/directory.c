/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a path begins: the root, the working directory, or an open one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <skerry/process.h>
#include "platform.h"
#include "ramfs.h"
#include "volume.h"

static struct ramfs_node *current;
/* The path in the volume of which `current` is the mount point; null: no volume, or the top of it. */
static char *current_inside;

/* Keeps `node` as the working directory; in a volume it keeps the path, and the layer owns it from then on. */
static void set_current(struct ramfs_node *node, char *inside)
{
	struct ramfs_node *before = current;

	layer_free(current_inside);
	current_inside = inside;

	node->opened++;
	current = node;
	if (before)
		ramfs_release(before);
}

static long change_directory(const struct place *);

static struct ramfs_node *working_directory(void)
{
	struct place start;

	if (!current) {
		const char *path = (const char *)platform_info()->cwd;
		int error = path ? path_walk(ramfs_root(), path, &start) : -ENOENT;
		set_current(ramfs_root(), 0);
		if (!error)
			error = (int)change_directory(&start);
		if (path && error)
			console_log("posix: cannot start in %s: it is no directory", path);
	}
	return current;
}

/* The directory at which a volume is mounted, by its number. */
static struct ramfs_node *mount_point(unsigned volume)
{
	const char *path = (const char *)platform_info()->volumes;
	struct place there;

	while (--volume)
		path += strlen(path) + 1;
	return path_walk(ramfs_root(), path, &there) ? 0 : there.node;
}

/* The directory of an open file, and its path in the volume that is mounted there. */
static int directory_of(int fd, struct ramfs_node **from, const char **inside)
{
	struct file *file = descriptor_file(fd);

	if (!file)
		return -EBADF;
	*inside = volume_directory(file);
	*from = *inside ? mount_point(volume_of_file(file)) : ramfs_node_of(file);
	if (!*inside)
		*inside = "";
	return *from && S_ISDIR((*from)->mode) ? 0 : -ENOTDIR;
}

int path_find(int directory_fd, const char *path, struct place *out)
{
	struct ramfs_node *from;
	const char *inside = "";

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
		inside = current_inside ? current_inside : "";
	} else {
		const int error = directory_of(directory_fd, &from, &inside);
		if (error)
			return error;
	}
	return path_walk_from(from, inside, path, out);
}

int path_node(const struct place *there, struct ramfs_node **out)
{
	*out = there->node;
	return there->volume ? -EXDEV : there->node ? 0 : -ENOENT;
}

static char *copy_inside(const char *inside)
{
	char *copy = layer_allocate(FILE_PATH_MOST + 1);

	if (copy)
		memcpy(copy, inside, strlen(inside));
	return copy;
}

static long change_to_volume(const struct place *there)
{
	char inside[FILE_PATH_MOST + 1];
	struct stat st;
	bool directory;
	const long error = volume_stat(there, &st);
	const long size = error ? error : volume_path(there, inside, &directory);

	if (size < 0)
		return size;
	inside[size] = 0;
	char *copy = S_ISDIR(st.st_mode) ? copy_inside(inside) : 0;
	if (!copy)
		return S_ISDIR(st.st_mode) ? -ENOMEM : -ENOTDIR;
	set_current(there->node, copy);
	return 0;
}

static long change_directory(const struct place *there)
{
	if (there->volume)
		return change_to_volume(there);
	if (!there->node || !S_ISDIR(there->node->mode))
		return there->node ? -ENOTDIR : -ENOENT;
	set_current(there->node, 0);
	return 0;
}

long sys_chdir(const long *a)
{
	struct place there;
	int error = path_find(AT_FDCWD, (const char *)a[0], &there);

	return error ? error : change_directory(&there);
}

long sys_fchdir(const long *a)
{
	struct ramfs_node *node;
	const char *inside;
	const int error = directory_of((int)a[0], &node, &inside);

	if (error)
		return error;
	char *copy = *inside ? copy_inside(inside) : 0;
	if (*inside && !copy)
		return -ENOMEM;
	set_current(node, copy);
	return 0;
}

/* From the last component to the first, which then moves to the front. */
long sys_getcwd(const long *a)
{
	char path[PATH_MAX];
	size_t at = sizeof(path) - 1;
	const struct ramfs_node *const begin = working_directory();

	path[at] = 0;
	if (current_inside && *current_inside) {
		const size_t length = strlen(current_inside);

		if (length + 1 > at)
			return -ENAMETOOLONG;
		at -= length + 1;
		path[at] = '/';
		memcpy(path + at + 1, current_inside, length);
	}
	for (const struct ramfs_node *node = begin; node != ramfs_root(); node = node->parent) {
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
