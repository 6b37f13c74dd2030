/* SPDX-License-Identifier: BSD-2-Clause */
/* statfs() and fstatfs(): the file system in the program's heap, and volumes. */
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include "ramfs.h"
#include "volume.h"

enum { TMPFS_MAGIC = 0x01021994, NAME_LENGTH = 255 };

static long statfs_fill(struct statfs *s)
{
	size_t most, held;

	ramfs_usage(&most, &held);
	*s = (struct statfs){ .f_type = TMPFS_MAGIC, .f_bsize = PAGE, .f_frsize = PAGE, .f_blocks = most,
	                      .f_bfree = most - held,
		              .f_bavail = most - held, .f_namelen = NAME_LENGTH };
	return 0;
}

long sys_fstatfs(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	if (!file)
		return -EBADF;
	return volume_is_file(file) ? volume_statfs(volume_of_file(file), (struct statfs *)a[1])
				    : statfs_fill((struct statfs *)a[1]);
}

long sys_statfs(const long *a)
{
	struct place there;
	const int error = path_find(AT_FDCWD, (const char *)a[0], &there);

	if (error)
		return error;
	if (there.volume)
		return volume_statfs(there.volume, (struct statfs *)a[1]);
	return there.node ? statfs_fill((struct statfs *)a[1]) : -ENOENT;
}
