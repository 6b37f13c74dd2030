/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that name files by path. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "platform.h"
#include "ramfs.h"
#include "volume.h"

/* Returns the error of an open of this node with these flags, or 0. */
static int open_check(const struct ramfs_node *node, int flags)
{
	const bool writes = (flags & O_ACCMODE) != O_RDONLY;

	if ((flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	if (S_ISDIR(node->mode) && (writes || flags & O_CREAT))
		return -EISDIR;
	if (!S_ISDIR(node->mode) && flags & O_DIRECTORY)
		return -ENOTDIR;
	return node->read_only && (writes || flags & O_TRUNC) ? -EROFS : 0;
}

long sys_openat(const long *a)
{
	const int flags = (int)a[2];
	struct place there;
	struct file *file;
	int error = path_find((int)a[0], (const char *)a[1], &there);

	if (error)
		return error;
	if (there.volume) {
		error = (int)volume_open(&there, flags, (uint32_t)a[3], &file);
		return error ? error : descriptor_open(file, 0);
	}
	if (there.node) {
		error = open_check(there.node, flags);
	} else if (!(flags & O_CREAT)) {
		error = -ENOENT;
	} else {
		error = there.slash ? -EISDIR
		                    : ramfs_create(there.directory, there.name, there.length,
		                                   S_IFREG | ((uint32_t)a[3] & 0777), &there.node);
	}
	if (error)
		return error;
	error = there.node->special ? device_open(there.node->special, flags, &file)
	        : ramfs_open(there.node, flags, &file);
	return error ? error : descriptor_open(file, 0);
}

long sys_open(const long *a) { return sys_openat((const long[]){ AT_FDCWD, a[0], a[1], a[2] }); }
long sys_creat(const long *a)
{
	return sys_openat((const long[]){ AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, a[1] });
}

static long stat_path(int directory_fd, const char *name, struct stat *st)
{
	struct ramfs_node *node;
	struct place there;
	int error = path_find(directory_fd, name, &there);

	if (!error && there.volume)
		return volume_stat(&there, st);
	if (!error)
		error = path_node(&there, &node);
	if (!error)
		ramfs_stat(node, st);
	return error;
}

long sys_fstat(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);
	struct stat *st = (struct stat *)a[1];

	if (!file)
		return -EBADF;
	memset(st, 0, sizeof(*st));
	if (file->ops->stat)
		return file->ops->stat(file, st);
	st->st_mode = S_IFSOCK | 0777;
	st->st_blksize = PAGE;
	return 0;
}

long sys_newfstatat(const long *a)
{
	const char *path = (const char *)a[1];

	if ((a[3] & AT_EMPTY_PATH) && path && !*path)
		return sys_fstat((const long[]){ a[0], a[2] });
	return stat_path((int)a[0], path, (struct stat *)a[2]);
}

long sys_stat(const long *a) { return stat_path(AT_FDCWD, (const char *)a[0], (struct stat *)a[1]); }
long sys_lstat(const long *a) { return sys_stat(a); } /* there are no symbolic links */

long sys_faccessat(const long *a)
{
	struct ramfs_node *node;
	struct place there;
	int error = path_find((int)a[0], (const char *)a[1], &there);

	if (!error && !there.volume)
		error = path_node(&there, &node);
	if (error)
		return error;
	if (a[2] & ~(R_OK | W_OK | X_OK))
		return -EINVAL;
	if (there.volume)
		return volume_access(&there, (int)a[2]);
	if (a[2] & W_OK && node->read_only)
		return -EROFS;
	return a[2] & X_OK && !S_ISDIR(node->mode) && !(node->mode & 0111) ? -EACCES : 0;
}

long sys_access(const long *a) { return sys_faccessat((const long[]){ AT_FDCWD, a[0], a[1] }); }

long sys_readlinkat(const long *a)
{
	struct stat st;
	long error = stat_path((int)a[0], (const char *)a[1], &st);

	return error ? error : -EINVAL;
}

long sys_readlink(const long *a) { return sys_readlinkat((const long[]){ AT_FDCWD, a[0] }); }

long sys_mkdirat(const long *a)
{
	struct place there;
	int error = path_find((int)a[0], (const char *)a[1], &there);

	if (error)
		return error;
	if (there.volume)
		return volume_mkdir(&there, (uint32_t)a[2]);
	if (there.node)
		return -EEXIST;
	return ramfs_create(there.directory, there.name, there.length, S_IFDIR | ((uint32_t)a[2] & 0777), &there.node);
}

long sys_mkdir(const long *a) { return sys_mkdirat((const long[]){ AT_FDCWD, a[0], a[1] }); }

/* 0: a directory without entries. */
static int check_empty(struct ramfs_node *directory)
{
	int error = ramfs_image_fill(directory);

	return error ? error : list_is_empty(&directory->directory.nodes) ? 0 : -ENOTEMPTY;
}

static long unlink_path(int directory_fd, const char *name, bool directory)
{
	struct place there;
	int error = path_find(directory_fd, name, &there);
	struct ramfs_node *node = error ? 0 : there.node;

	if (!node)
		return error ? error : -ENOENT;
	if (there.volume)
		return volume_unlink(&there, directory);
	if (S_ISDIR(node->mode) != directory)
		return directory ? -ENOTDIR : -EISDIR;
	if (!there.name) /* "/", "." and ".." */
		return node == ramfs_root() ? -EBUSY : -EINVAL;
	if (directory && (error = check_empty(node)))
		return error;
	if (node->read_only)
		return -EROFS;
	ramfs_unlink(there.entry);
	return 0;
}

long sys_unlinkat(const long *a) { return unlink_path((int)a[0], (const char *)a[1], a[2] & AT_REMOVEDIR); }
long sys_unlink(const long *a) { return unlink_path(AT_FDCWD, (const char *)a[0], false); }
long sys_rmdir(const long *a) { return unlink_path(AT_FDCWD, (const char *)a[0], true); }

static bool is_within(const struct ramfs_node *node, const struct ramfs_node *directory)
{
	while (node != directory && node != ramfs_root())
		node = node->parent;
	return node == directory;
}

/* Returns the error of a rename of `from` to `to`, or 0. */
static int rename_check(const struct place *from, const struct place *to)
{
	const struct ramfs_node *node = from->node, *old = to->node;

	if (!from->name || !to->name)
		return -EBUSY;
	if (S_ISDIR(node->mode) && is_within(to->directory, node))
		return -EINVAL;
	if (!S_ISDIR(node->mode) && to->slash)
		return -ENOTDIR;
	if (old && S_ISDIR(old->mode) != S_ISDIR(node->mode))
		return S_ISDIR(old->mode) ? -EISDIR : -ENOTDIR;
	return node->read_only || (old && old->read_only) ? -EROFS : 0;
}

long sys_renameat(const long *a)
{
	struct place from, to;
	int error = path_find((int)a[0], (const char *)a[1], &from);

	if (error || (error = path_find((int)a[2], (const char *)a[3], &to)))
		return error;
	if (!from.node)
		return -ENOENT;
	if (from.volume || to.volume)
		return volume_rename(&from, &to);
	if (from.node == to.node)
		return 0;
	if ((error = rename_check(&from, &to)))
		return error;
	if (to.node && S_ISDIR(to.node->mode) && (error = check_empty(to.node)))
		return error;
	error = ramfs_move(from.entry, to.directory, to.name, to.length);
	if (!error && to.node)
		ramfs_unlink(to.entry);
	return error;
}

long sys_renameat2(const long *a) { return a[4] ? -EINVAL : sys_renameat(a); }
long sys_rename(const long *a) { return sys_renameat((const long[]){ AT_FDCWD, a[0], AT_FDCWD, a[1] }); }

/* One more name of a file in memory. */
long sys_linkat(const long *a)
{
	struct ramfs_node *node;
	struct place from, to;
	int error = path_find((int)a[0], (const char *)a[1], &from);

	if (error || (error = path_find((int)a[2], (const char *)a[3], &to)))
		return error;
	if (a[4] & ~(long)AT_SYMLINK_FOLLOW)
		return -EINVAL;
	if (from.volume || to.volume)
		return from.volume && from.volume == to.volume ? -EPERM : -EXDEV;
	if ((error = path_node(&from, &node)))
		return error;
	if (to.node)
		return -EEXIST;
	if (to.slash)
		return -ENOENT;
	if (!S_ISREG(node->mode))
		return -EPERM;
	return node->read_only ? -EROFS : ramfs_name(node, to.directory, to.name, to.length);
}

long sys_link(const long *a) { return sys_linkat((const long[]){ AT_FDCWD, a[0], AT_FDCWD, a[1], 0 }); }

long sys_ftruncate(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	if (!file)
		return -EBADF;
	if (!file->ops->truncate || (file->flags & O_ACCMODE) == O_RDONLY)
		return -EINVAL;
	return file->ops->truncate(file, a[1]);
}

long sys_truncate(const long *a)
{
	struct ramfs_node *node;
	struct place there;
	int error = path_find(AT_FDCWD, (const char *)a[0], &there);

	if (!error && there.volume)
		return volume_truncate(&there, a[1]);
	if (!error)
		error = path_node(&there, &node);
	if (error)
		return error;
	if (!S_ISREG(node->mode) || a[1] < 0)
		return S_ISDIR(node->mode) ? -EISDIR : -EINVAL;
	if (node->read_only)
		return -EROFS;
	ramfs_touch(node);
	return ramfs_resize(node, (size_t)a[1]);
}

/* Does nothing for files in memory: they do not last. */
static long sync_descriptor(int fd, bool data_only)
{
	struct file *file = descriptor_file(fd);

	return !file ? -EBADF : file->ops->sync ? file->ops->sync(file, data_only) : 0;
}

long sys_fsync(const long *a) { return sync_descriptor((int)a[0], false); }
long sys_fdatasync(const long *a) { return sync_descriptor((int)a[0], true); }
long sys_sync_file_range(const long *a) { return sys_fdatasync(a); }

long sys_sync(const long *a)
{
	(void)a;
	for (int fd = 0; platform_info()->volume_count && fd < descriptor_count_max(); fd++)
		sync_descriptor(fd, false);
	return 0;
}

static long check_descriptor(const long *a) { return descriptor_file((int)a[0]) ? 0 : -EBADF; }
long sys_fadvise64(const long *a) { return check_descriptor(a); }

long sys_fallocate(const long *a)
{
	struct stat st;
	long error = sys_fstat((const long[]){ a[0], (long)&st });

	if (error || a[1])
		return error ? error : -EOPNOTSUPP;
	return a[2] + a[3] > st.st_size ? sys_ftruncate((const long[]){ a[0], a[2] + a[3] }) : 0;
}

/* One user owns everything: permissions and owners are not kept, only the file's existence is checked. */
static long check_there(int directory_fd, const char *path)
{
	struct stat st;

	return stat_path(directory_fd, path, &st);
}

/* A volume keeps permissions. */
static long change_mode(int directory_fd, const char *path, uint32_t mode)
{
	struct place there;
	const int error = path_find(directory_fd, path, &there);

	return error ? error : there.volume ? volume_chmod(&there, mode) : there.node ? 0 : -ENOENT;
}

long sys_chmod(const long *a) { return change_mode(AT_FDCWD, (const char *)a[0], (uint32_t)a[1]); }
long sys_chown(const long *a) { return check_there(AT_FDCWD, (const char *)a[0]); }
long sys_lchown(const long *a) { return check_there(AT_FDCWD, (const char *)a[0]); }
long sys_fchmodat(const long *a) { return change_mode((int)a[0], (const char *)a[1], (uint32_t)a[2]); }
long sys_fchownat(const long *a) { return check_there((int)a[0], (const char *)a[1]); }
long sys_fchown(const long *a) { return check_descriptor(a); }

long sys_fchmod(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);
	struct file_request request = { .set = FILE_SET_MODE, .mode = (uint32_t)a[1] & 0777 };

	return !file ? -EBADF : volume_is_file(file) ? volume_file_set(file, &request) : 0;
}

static long set_file_times(int fd, const struct timespec *times)
{
	struct file *file = descriptor_file(fd);
	struct ramfs_node *node = file ? ramfs_node_of(file) : 0;
	struct file_request request = { 0 };

	if (!file || !volume_is_file(file))
		return !file ? -EBADF : node ? ramfs_set_times(node, times) : 0;
	const int error = volume_times(&request, times);
	return error ? error : volume_file_set(file, &request);
}

long sys_utimensat(const long *a)
{
	const struct timespec *times = (const struct timespec *)a[2];
	const char *path = (const char *)a[1];
	struct place there;

	if (times && times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT)
		return 0; /* Linux does not even look for the file */
	if (a[3] & ~(long)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!path || (!*path && a[3] & AT_EMPTY_PATH))
		return set_file_times((int)a[0], times);
	const int error = path_find((int)a[0], path, &there);
	if (error)
		return error;
	return there.volume ? volume_utimes(&there, times) : there.node ? ramfs_set_times(there.node, times) : -ENOENT;
}

long sys_getdents64(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	if (!file)
		return -EBADF;
	return file->ops->entries ? file->ops->entries(file, (void *)a[1], (size_t)a[2]) : -ENOTDIR;
}
