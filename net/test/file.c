/* SPDX-License-Identifier: BSD-2-Clause */
/* The POSIX layer's references to files, for tests of sockets without that layer. */
#include <skerry/posix.h>

void file_init(struct file *file, const struct file_operations *ops, uint32_t flags)
{
	*file = (struct file){ .ops = ops, .references = 1, .flags = flags };
}

struct file *file_hold(struct file *file)
{
	file->references++;
	return file;
}

void file_put(struct file *file)
{
	if (!--file->references)
		file->ops->close(file);
}
