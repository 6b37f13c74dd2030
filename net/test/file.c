/* SPDX-License-Identifier: BSD-2-Clause */
/* The POSIX layer's references to files, for tests of sockets without that layer. */
#include <sys/epoll.h>
#include "layer.h"

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

/* --- edge-triggered watches --- */

enum { WATCHED = 8 };
static struct {
	const struct file *file;
	uint32_t wanted, seen;
} watched[WATCHED];

/* Adds a file. Its state then is the first edge. */
void file_watch(struct file *file, uint32_t events)
{
	static unsigned count;

	for (unsigned i = 0; i < WATCHED; i++)
		if (watched[i].file == file) /* one that was closed */
			watched[i].file = 0;
	file->edge_triggered = true;
	watched[count % WATCHED].file = file;
	watched[count % WATCHED].wanted = events | EPOLLERR | EPOLLHUP;
	watched[count++ % WATCHED].seen = file->ready;
}

void file_edge(struct file *file, uint32_t events)
{
	for (unsigned i = 0; i < WATCHED; i++)
		if (watched[i].file == file)
			watched[i].seen |= events;
}

uint32_t file_watched(const struct file *file)
{
	for (unsigned i = 0; i < WATCHED; i++)
		if (watched[i].file == file && watched[i].seen & watched[i].wanted) {
			watched[i].seen = 0;
			return file->ready & watched[i].wanted;
		}
	return 0;
}
