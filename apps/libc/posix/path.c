/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that name files by path. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "ramfs.h"

static char current[RAMFS_PATH] = "/";

/* Append the components of `path` to the absolute path in `out`. */
static int append(char out[RAMFS_PATH], const char *path)
{
	size_t length = strlen(out);

	if (length == 1)
		length = 0; /* "/" holds its slash already */
	while (*path) {
		size_t n = strcspn(path, "/");
		if (n == 2 && path[0] == '.' && path[1] == '.') {
			while (length && out[--length] != '/') {
			}
		} else if (n && !(n == 1 && path[0] == '.')) {
			if (length + 1 + n >= RAMFS_PATH)
				return -ENAMETOOLONG;
			out[length] = '/';
			memcpy(out + length + 1, path, n);
			length += n + 1;
		}
		path += n;
		path += strspn(path, "/");
	}
	if (!length)
		out[length++] = '/';
	out[length] = 0;
	return 0;
}

int path_resolve(int directory_fd, const char *path, char out[RAMFS_PATH])
{
	if (!path)
		return -EFAULT;
	if (!*path)
		return -ENOENT;
	if (*path != '/' && directory_fd != AT_FDCWD)
		return -EBADF; /* relative to an open directory: nobody needs it yet */
	if (*path == '/')
		memcpy(out, "/", 2);
	else
		memcpy(out, current, sizeof(current));
	return append(out, path);
}

int path_parent_check(const char *path)
{
	char parent[RAMFS_PATH];
	size_t length = (size_t)(strrchr(path, '/') - path);

	memcpy(parent, path, length);
	parent[length ? length : 1] = 0;
	if (!length)
		parent[0] = '/';
	struct ramfs_node *node = ramfs_find(parent);
	return !node ? -ENOENT : S_ISDIR(node->mode) ? 0 : -ENOTDIR;
}

long sys_openat(const long *a)
{
	char path[RAMFS_PATH];
	struct file *file;
	int error = path_resolve((int)a[0], (const char *)a[1], path);

	if (error)
		return error;
	error = device_open(path, (int)a[2], &file);
	if (error == -ENOENT)
		error = ramfs_open(path, (int)a[2], (unsigned)a[3], &file);
	return error ? error : descriptor_open(file, 0);
}

long sys_open(const long *a) { return sys_openat((const long[]){ AT_FDCWD, a[0], a[1], a[2] }); }
long sys_creat(const long *a) { return sys_openat((const long[]){ AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, a[1] }); }

static long stat_path(int directory_fd, const char *name, struct stat *st)
{
	char path[RAMFS_PATH];
	struct file *device;
	int error = path_resolve(directory_fd, name, path);

	if (error)
		return error;
	if (device_open(path, O_RDONLY, &device) == 0) {
		memset(st, 0, sizeof(*st));
		error = device->ops->stat(device, st);
		file_put(device);
		return error;
	}
	struct ramfs_node *node = ramfs_find(path);
	if (!node)
		return -ENOENT;
	ramfs_stat(node, st);
	return 0;
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
	struct stat st;

	return stat_path((int)a[0], (const char *)a[1], &st);
}

long sys_access(const long *a) { return sys_faccessat((const long[]){ AT_FDCWD, a[0] }); }

long sys_readlinkat(const long *a)
{
	struct stat st;
	long error = stat_path((int)a[0], (const char *)a[1], &st);

	return error ? error : -EINVAL;
}

long sys_readlink(const long *a) { return sys_readlinkat((const long[]){ AT_FDCWD, a[0] }); }

long sys_mkdirat(const long *a)
{
	char path[RAMFS_PATH];
	int error = path_resolve((int)a[0], (const char *)a[1], path);

	if (error)
		return error;
	if (ramfs_find(path))
		return -EEXIST;
	if ((error = path_parent_check(path)))
		return error;
	return ramfs_create(path, S_IFDIR | ((uint32_t)a[2] & 0777)) ? 0 : -ENOSPC;
}

long sys_mkdir(const long *a) { return sys_mkdirat((const long[]){ AT_FDCWD, a[0], a[1] }); }

static long unlink_path(int directory_fd, const char *name, bool directory)
{
	char path[RAMFS_PATH];
	int error = path_resolve(directory_fd, name, path);
	struct ramfs_node *node = error ? 0 : ramfs_find(path);

	if (!node)
		return error ? error : -ENOENT;
	if (S_ISDIR(node->mode) != directory)
		return directory ? -ENOTDIR : -EISDIR;
	if (directory && ramfs_has_children(path))
		return -ENOTEMPTY;
	if (!path[1])
		return -EBUSY;
	ramfs_unlink(node);
	return 0;
}

long sys_unlinkat(const long *a) { return unlink_path((int)a[0], (const char *)a[1], a[2] & AT_REMOVEDIR); }
long sys_unlink(const long *a) { return unlink_path(AT_FDCWD, (const char *)a[0], false); }
long sys_rmdir(const long *a) { return unlink_path(AT_FDCWD, (const char *)a[0], true); }

long sys_renameat(const long *a)
{
	char from[RAMFS_PATH], to[RAMFS_PATH];
	int error = path_resolve((int)a[0], (const char *)a[1], from);

	if (error || (error = path_resolve((int)a[2], (const char *)a[3], to)))
		return error;
	struct ramfs_node *node = ramfs_find(from), *old = ramfs_find(to);
	if (!node)
		return -ENOENT;
	if (node == old)
		return 0;
	if (S_ISDIR(node->mode) && ramfs_has_children(from))
		return -ENOTEMPTY; /* nodes know their whole path; nobody renames full directories yet */
	if (old && S_ISDIR(old->mode) != S_ISDIR(node->mode))
		return S_ISDIR(old->mode) ? -EISDIR : -ENOTDIR;
	if (old && S_ISDIR(old->mode) && ramfs_has_children(to))
		return -ENOTEMPTY;
	if ((error = path_parent_check(to)))
		return error;
	if (old)
		ramfs_unlink(old);
	memcpy(node->path, to, sizeof(to));
	return 0;
}

long sys_renameat2(const long *a) { return a[4] ? -EINVAL : sys_renameat(a); }
long sys_rename(const long *a) { return sys_renameat((const long[]){ AT_FDCWD, a[0], AT_FDCWD, a[1] }); }

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
	char path[RAMFS_PATH];
	int error = path_resolve(AT_FDCWD, (const char *)a[0], path);
	struct ramfs_node *node = error ? 0 : ramfs_find(path);

	if (!node)
		return error ? error : -ENOENT;
	return S_ISDIR(node->mode) ? -EISDIR : a[1] < 0 ? -EINVAL : ramfs_resize(node, (size_t)a[1]);
}

/* Memory is all there is to write to. */
long sys_fsync(const long *a) { return descriptor_file((int)a[0]) ? 0 : -EBADF; }
long sys_fdatasync(const long *a) { return sys_fsync(a); }
long sys_sync_file_range(const long *a) { return sys_fsync(a); }
long sys_fadvise64(const long *a) { return sys_fsync(a); }
long sys_sync(const long *a) { (void)a; return 0; }

long sys_fallocate(const long *a)
{
	struct stat st;
	long error = sys_fstat((const long[]){ a[0], (long)&st });

	if (error || a[1])
		return error ? error : -EOPNOTSUPP;
	return a[2] + a[3] > st.st_size ? sys_ftruncate((const long[]){ a[0], a[2] + a[3] }) : 0;
}

/* One user owns everything: permissions and owners are not kept, only the file's existence is checked. */
long sys_chmod(const long *a) { return sys_access(a); }
long sys_chown(const long *a) { return sys_access(a); }
long sys_fchmod(const long *a) { return sys_fsync(a); }
long sys_fchown(const long *a) { return sys_fsync(a); }
long sys_utimensat(const long *a) { return a[1] ? sys_faccessat(a) : sys_fsync(a); }

long sys_chdir(const long *a)
{
	char path[RAMFS_PATH];
	int error = path_resolve(AT_FDCWD, (const char *)a[0], path);
	struct ramfs_node *node = error ? 0 : ramfs_find(path);

	if (!node)
		return error ? error : -ENOENT;
	if (!S_ISDIR(node->mode))
		return -ENOTDIR;
	memcpy(current, path, sizeof(current));
	return 0;
}

long sys_getcwd(const long *a)
{
	size_t length = strlen(current) + 1;

	if ((size_t)a[1] < length)
		return -ERANGE;
	memcpy((char *)a[0], current, length);
	return (long)length;
}

long sys_getdents64(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	if (!file)
		return -EBADF;
	return file->ops->entries ? file->ops->entries(file, (void *)a[1], (size_t)a[2]) : -ENOTDIR;
}
