/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "ramfs.h"

static struct ramfs_node *nodes;

struct ramfs_node *ramfs_first(void)
{
	if (!nodes) {
		ramfs_create("/", S_IFDIR | 0755);
		ramfs_create("/tmp", S_IFDIR | 0777);
		ramfs_create("/dev", S_IFDIR | 0755);
	}
	return nodes;
}

struct ramfs_node *ramfs_find(const char *path)
{
	struct ramfs_node *node = ramfs_first();

	while (node && strcmp(node->path, path))
		node = node->next;
	return node;
}

struct ramfs_node *ramfs_create(const char *path, uint32_t mode)
{
	int64_t clock_realtime_offset(void);
	static uint64_t last_inode;
	struct ramfs_node *node = layer_allocate(sizeof(*node));

	if (!node)
		return 0;
	memcpy(node->path, path, strlen(path));
	node->mode = mode;
	node->inode = ++last_inode;
	node->changed = clock_nanoseconds() + (uint64_t)clock_realtime_offset();
	node->next = nodes;
	return nodes = node;
}

static void destroy_unused(struct ramfs_node *node)
{
	if (node->path[0] || node->opened)
		return;
	ramfs_resize(node, 0);
	layer_free(node);
}

void ramfs_unlink(struct ramfs_node *node)
{
	struct ramfs_node **link = &nodes;

	while (*link != node)
		link = &(*link)->next;
	*link = node->next;
	node->path[0] = 0;
	destroy_unused(node);
}

void ramfs_release(struct ramfs_node *node)
{
	node->opened--;
	destroy_unused(node);
}

bool ramfs_is_child(const struct ramfs_node *node, const char *directory)
{
	size_t length = strlen(directory);

	if (length == 1) /* "/" */
		length = 0;
	return !strncmp(node->path, directory, length) && node->path[length] == '/' && node->path[length + 1]
	       && !strchr(node->path + length + 1, '/');
}

bool ramfs_has_children(const char *path)
{
	for (struct ramfs_node *node = ramfs_first(); node; node = node->next)
		if (ramfs_is_child(node, path))
			return true;
	return false;
}

/* The table of chunks doubles, so that growing a file stays linear. */
static int table_grow(struct ramfs_node *node, size_t needed)
{
	size_t count = node->chunks ? node->chunks : 8;

	if (needed <= node->chunks)
		return 0;
	while (count < needed)
		count *= 2;
	char **table = layer_allocate(count * sizeof(*table));
	if (!table)
		return -ENOSPC;
	if (node->chunks)
		memcpy(table, node->chunk, node->chunks * sizeof(*table));
	layer_free(node->chunk);
	node->chunk = table;
	node->chunks = count;
	return 0;
}

int ramfs_resize(struct ramfs_node *node, size_t size)
{
	size_t keep = (size + RAMFS_CHUNK - 1) / RAMFS_CHUNK;

	for (size_t i = keep; i < node->chunks; i++)
		if (node->chunk[i]) {
			heap_unmap(node->chunk[i], RAMFS_CHUNK / PAGE);
			node->chunk[i] = 0;
		}
	if (size < node->size && size % RAMFS_CHUNK && node->chunk[size / RAMFS_CHUNK])
		memset(node->chunk[size / RAMFS_CHUNK] + size % RAMFS_CHUNK, 0, RAMFS_CHUNK - size % RAMFS_CHUNK);
	if (!size) {
		layer_free(node->chunk);
		node->chunk = 0;
		node->chunks = 0;
	}
	node->size = size;
	return 0;
}

ssize_t ramfs_read(const struct ramfs_node *node, void *buffer, size_t size, size_t offset)
{
	if (offset >= node->size)
		return 0;
	if (size > node->size - offset)
		size = node->size - offset;
	for (size_t done = 0; done < size;) {
		size_t i = (offset + done) / RAMFS_CHUNK, at = (offset + done) % RAMFS_CHUNK;
		size_t n = size - done < RAMFS_CHUNK - at ? size - done : RAMFS_CHUNK - at;
		if (i < node->chunks && node->chunk[i])
			memcpy((char *)buffer + done, node->chunk[i] + at, n);
		else
			memset((char *)buffer + done, 0, n);
		done += n;
	}
	return (ssize_t)size;
}

ssize_t ramfs_write(struct ramfs_node *node, const void *buffer, size_t size, size_t offset)
{
	size_t done = 0;

	if (offset + size < offset || offset + size > (size_t)1 << 40)
		return -EFBIG;
	if (table_grow(node, (offset + size + RAMFS_CHUNK - 1) / RAMFS_CHUNK))
		return -ENOSPC;
	while (done < size) {
		size_t i = (offset + done) / RAMFS_CHUNK, at = (offset + done) % RAMFS_CHUNK;
		size_t n = size - done < RAMFS_CHUNK - at ? size - done : RAMFS_CHUNK - at;
		if (!node->chunk[i] && !(node->chunk[i] = heap_map(RAMFS_CHUNK / PAGE)))
			break;
		memcpy(node->chunk[i] + at, (const char *)buffer + done, n);
		done += n;
	}
	if (done && offset + done > node->size)
		node->size = offset + done;
	return done || !size ? (ssize_t)done : -ENOSPC;
}

void ramfs_stat(const struct ramfs_node *node, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_dev = 1;
	st->st_ino = node->inode;
	st->st_mode = node->mode;
	st->st_nlink = node->path[0] ? 1 : 0;
	st->st_size = (off_t)node->size;
	st->st_blksize = PAGE;
	st->st_blocks = (blkcnt_t)((node->size + 511) / 512);
	st->st_mtim.tv_sec = (time_t)(node->changed / 1000000000);
	st->st_mtim.tv_nsec = (long)(node->changed % 1000000000);
	st->st_atim = st->st_ctim = st->st_mtim;
}
