/* SPDX-License-Identifier: BSD-2-Clause */
/* statfs() and fstatfs(): the one file system, in the program's heap. */
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include "ramfs.h"

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

long sys_fstatfs(const long *a) { return descriptor_file((int)a[0]) ? statfs_fill((struct statfs *)a[1]) : -EBADF; }

long sys_statfs(const long *a)
{
	struct ramfs_node *node;
	const int error = path_node(AT_FDCWD, (const char *)a[0], &node);

	return error ? error : statfs_fill((struct statfs *)a[1]);
}
