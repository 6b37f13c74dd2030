/* SPDX-License-Identifier: BSD-2-Clause */
/* The content of files in memory. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "platform.h"
#include "ramfs.h"

enum { CHUNK_PAGES = RAMFS_CHUNK / PAGE };

static size_t pages_held; /* of all files */

/* All files together, in pages: they share the heap with the program's data. */
static size_t page_limit(void)
{
	const size_t configured = platform_info()->storage, least = RAMFS_LEAST / PAGE;
	size_t total, used;

	if (configured)
		return configured / PAGE;
	heap_usage(&total, &used);
	return total / 16 > least ? total / 16 : least;
}

void ramfs_usage(size_t *most, size_t *held)
{
	*most = page_limit();
	*held = pages_held < *most ? pages_held : *most;
}

void ramfs_touch(struct ramfs_node *node)
{
	int64_t clock_realtime_offset(void);

	node->changed = clock_nanoseconds() + (uint64_t)clock_realtime_offset();
#ifdef LAYER_FAMILY
	node->altered = ramfs_begun;
#endif
}

static size_t pages_of(const struct ramfs_node *node, size_t i)
{
	return i >= node->file.chunks || !node->file.chunk[i] ? 0 : i ? CHUNK_PAGES : node->head_pages;
}

/* The table of chunks doubles, so that growing a file stays linear. */
static int table_grow(struct ramfs_node *node, size_t needed)
{
	size_t count = node->file.chunks ? node->file.chunks : 1;

	if (needed <= node->file.chunks)
		return 0;
	while (count < needed)
		count *= 2;
	char **table = count <= UINT32_MAX ? layer_allocate(count * sizeof(*table)) : 0;
	if (!table)
		return -ENOSPC;
	if (node->file.chunks)
		memcpy(table, node->file.chunk, node->file.chunks * sizeof(*table));
	layer_free(node->file.chunk);
	node->file.chunk = table;
	node->file.chunks = (uint32_t)count;
	require(node->file.chunks >= needed);
	return 0;
}

static void chunk_free(struct ramfs_node *node, size_t i)
{
	const size_t pages = pages_of(node, i);

	if (!pages)
		return;
	require(pages_held >= pages);
	heap_unmap(node->file.chunk[i], pages);
	node->file.chunk[i] = 0;
	pages_held -= pages;
}

/* Cuts the file off. The rest reads as zero when the file grows again. */
static void node_shrink(struct ramfs_node *node, size_t size)
{
	require(size <= node->size);
	const size_t keep = size / RAMFS_CHUNK + (size % RAMFS_CHUNK != 0), last = size / RAMFS_CHUNK;

	for (size_t i = keep; i < node->file.chunks; i++)
		if (!node->mapped)
			chunk_free(node, i);
		else if (node->file.chunk[i])
			memset(node->file.chunk[i], 0, pages_of(node, i) * PAGE);
	if (size % RAMFS_CHUNK && size % RAMFS_CHUNK < pages_of(node, last) * PAGE)
		memset(node->file.chunk[last] + size % RAMFS_CHUNK, 0,
		       pages_of(node, last) * PAGE - size % RAMFS_CHUNK);
	if (node->file.image_size > size)
		node->file.image_size = (uint32_t)size;
	if (!size && !node->mapped) {
		layer_free(node->file.chunk);
		node->file.chunk = 0;
		node->file.chunks = 0;
	}
}

int ramfs_resize(struct ramfs_node *node, size_t size)
{
	require(S_ISREG(node->mode));
	if (size <= node->size)
		node_shrink(node, size);
	node->size = size;
	return 0;
}

/* Where the content at `offset` is, null for zeroes; *size is cut to what lies there in a row. */
static const char *node_content(const struct ramfs_node *node, size_t offset, size_t *size)
{
	const size_t i = offset / RAMFS_CHUNK, at = offset % RAMFS_CHUNK, pages = pages_of(node, i);
	const char *there = 0;
	size_t row = RAMFS_CHUNK - at;

	if (pages && at < pages * PAGE) {
		there = node->file.chunk[i] + at;
		row = pages * PAGE - at;
	} else if (!pages && offset < node->file.image_size) {
		there = node->file.image + offset;
		if (!node->file.chunks || node->file.image_size - offset < row)
			row = node->file.image_size - offset;
	}
	if (*size > row)
		*size = row;
	return there;
}

ssize_t ramfs_read(const struct ramfs_node *node, void *buffer, size_t size, size_t offset)
{
	require(S_ISREG(node->mode));
	if (offset >= node->size)
		return 0;
	if (size > node->size - offset)
		size = node->size - offset;
	for (size_t done = 0, n; done < size; done += n) {
		n = size - done;
		const char *from = node_content(node, offset + done, &n);
		if (from)
			memcpy((char *)buffer + done, from, n);
		else
			memset((char *)buffer + done, 0, n);
	}
	return (ssize_t)size;
}

/* Puts `pages` of memory, all zero, in the place of chunk `i`, with what this holds. */
static void chunk_replace(struct ramfs_node *node, size_t i, char *memory, size_t pages)
{
	const size_t begin = i * RAMFS_CHUNK, have = pages_of(node, i), image = node->file.image_size;

	require(i < node->file.chunks && pages && pages >= have && pages <= CHUNK_PAGES);
	if (have)
		memcpy(memory, node->file.chunk[i], have * PAGE);
	else if (begin < image)
		memcpy(memory, node->file.image + begin, image - begin < RAMFS_CHUNK ? image - begin : RAMFS_CHUNK);
	chunk_free(node, i);
	node->file.chunk[i] = memory;
	if (!i)
		node->head_pages = (uint8_t)pages;
	pages_held += pages;
}

/* Returns chunk `i` with memory for its first `end` bytes, or null. Only a file's first chunk is smaller than the
 * others. */
static char *chunk_for(struct ramfs_node *node, size_t i, size_t end)
{
	const size_t have = pages_of(node, i);
	size_t pages = i || node->file.image_size ? CHUNK_PAGES : have ? have : 1;

	require(end && end <= RAMFS_CHUNK);
	while (pages * PAGE < end)
		pages *= 2;
	if (pages <= have)
		return node->file.chunk[i];
	char *chunk = pages_held - have + pages <= page_limit() ? heap_map(pages) : 0;
	if (!chunk)
		return 0;
	chunk_replace(node, i, chunk, pages);
	return chunk;
}

int ramfs_row(struct ramfs_node *node, size_t first, size_t last, bool may_move, char **at)
{
	size_t have = 0, in_row = 0;

	require(first <= last && S_ISREG(node->mode) && !node->read_only);
	if (last > page_limit() / CHUNK_PAGES + node->file.image_size / RAMFS_CHUNK || table_grow(node, last + 1))
		return -ENOMEM;
	const size_t pages = (last - first + 1) * CHUNK_PAGES;
	for (size_t i = first; i <= last; i++) {
		have += pages_of(node, i);
		in_row += pages_of(node, i) == CHUNK_PAGES &&
		          node->file.chunk[i] == node->file.chunk[first] + (i - first) * RAMFS_CHUNK;
	}
	if (in_row * CHUNK_PAGES < pages) {
		char *row = may_move && pages_held - have + pages <= page_limit() ? heap_map(pages) : 0;
		if (!row)
			return -ENOMEM;
		for (size_t i = first; i <= last; i++)
			chunk_replace(node, i, row + (i - first) * RAMFS_CHUNK, CHUNK_PAGES);
	}
	*at = node->file.chunk[first];
	return 0;
}

ssize_t ramfs_write(struct ramfs_node *node, const void *buffer, size_t size, size_t offset)
{
	const size_t most = page_limit() * PAGE + node->file.image_size;
	size_t done = 0;

	require(S_ISREG(node->mode) && !node->read_only);
	if (!size)
		return 0;
	if (offset >= most)
		return -ENOSPC;
	if (size > most - offset)
		size = most - offset;
	if (table_grow(node, (offset + size + RAMFS_CHUNK - 1) / RAMFS_CHUNK))
		return -ENOSPC;
	while (done < size) {
		size_t i = (offset + done) / RAMFS_CHUNK, at = (offset + done) % RAMFS_CHUNK;
		size_t n = size - done < RAMFS_CHUNK - at ? size - done : RAMFS_CHUNK - at;
		char *chunk = chunk_for(node, i, at + n);
		if (!chunk)
			break;
		memcpy(chunk + at, (const char *)buffer + done, n);
		done += n;
	}
	if (done && offset + done > node->size)
		node->size = offset + done;
	return done ? (ssize_t)done : -ENOSPC;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

static struct timespec time_accessed(const struct ramfs_node *node)
{
	return node->times ? node->times->accessed : timespec_of(node->changed);
}

static struct timespec time_modified(const struct ramfs_node *node)
{
	return node->times && node->times->set == node->changed ? node->times->modified : timespec_of(node->changed);
}

static bool is_time(const struct timespec *t)
{
	return t->tv_nsec == UTIME_NOW || t->tv_nsec == UTIME_OMIT || (t->tv_nsec >= 0 && t->tv_nsec < 1000000000);
}

static struct timespec chosen_time(const struct timespec *requested, struct timespec before, struct timespec now)
{
	return requested->tv_nsec == UTIME_OMIT ? before : requested->tv_nsec == UTIME_NOW ? now : *requested;
}

int ramfs_set_times(struct ramfs_node *node, const struct timespec *times)
{
	static const struct timespec both_now[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };
	struct ramfs_times set = { time_accessed(node), time_modified(node), 0 };

	if (!times)
		times = both_now;
	if (!is_time(&times[0]) || !is_time(&times[1]))
		return -EINVAL;
	if (node->read_only)
		return -EROFS;
	if (!node->times && !(node->times = layer_allocate(sizeof(*node->times))))
		return -ENOSPC;
	ramfs_touch(node);
	set.accessed = chosen_time(&times[0], set.accessed, timespec_of(node->changed));
	set.modified = chosen_time(&times[1], set.modified, timespec_of(node->changed));
	set.set = node->changed;
	*node->times = set;
	return 0;
}

void ramfs_stat(const struct ramfs_node *node, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_dev = 1;
	st->st_ino = node->inode;
	st->st_mode = node->mode;
	st->st_nlink = !ramfs_is_linked(node) ? node->links : S_ISDIR(node->mode) ? 2 : 1 + node->links;
	st->st_size = (off_t)node->size;
	st->st_blksize = PAGE;
	st->st_blocks = (blkcnt_t)(node->size / 512 + (node->size % 512 != 0));
	st->st_atim = time_accessed(node);
	st->st_mtim = time_modified(node);
	st->st_ctim = timespec_of(node->changed);
}
