/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared mappings of files: they are the file's own memory, whatever becomes of the file, and give it back. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include "ramfs-host.h"

long sys_msync(const long *);

static bool there = true;
bool memory_is_mapped(uintptr_t address, size_t size) { return there && address && size; }
bool memory_in_files(uintptr_t address, size_t size) { (void)address, (void)size; return false; }

static const struct host_file files[] = {
	{ "", FILE_TREE_DIRECTORY | 0755, 0, 0 },
	{ "own", FILE_TREE_WRITABLE | 0644, 200000, 'o' },
	{ "shared", 0644, 9000, 's' },
};

enum { CHUNK = RAMFS_CHUNK };

static char *map(long fd, size_t offset, size_t size)
{
	return (char *)(uintptr_t)ramfs_map(descriptor_file((int)fd), offset, size);
}
static bool is_error(const char *address, int error) { return (intptr_t)address == -error; }

static char at(long fd, long offset)
{
	char c = 0;

	CHECK(CALL(pread64, fd, P(&c), 1, offset) == 1);
	return c;
}

static void put(long fd, char c, long offset) { CHECK(CALL(pwrite64, fd, P(&c), 1, offset) == 1); }

static void writes_are_seen(void)
{
	const long before = blocks_held, fd = call_open("/f", O_RDWR | O_CREAT);

	put(fd, 'a', 100);
	CHECK(CALL(ftruncate, fd, 3 * CHUNK) == 0);
	char *m = map(fd, 0, 3 * CHUNK);
	CHECK(m[100] == 'a' && m[101] == 0 && m[3 * CHUNK - 1] == 0);
	m[2 * CHUNK + 5] = 'm';
	put(fd, 'w', CHUNK + 7);
	CHECK(at(fd, 2 * CHUNK + 5) == 'm' && m[CHUNK + 7] == 'w');
	CHECK(map(fd, CHUNK + PAGE, PAGE) == m + CHUNK + PAGE); /* the same part, once more */
	CHECK(ramfs_map_overlaps(P(m) + 3 * CHUNK - 1, 1) && !ramfs_map_overlaps(P(m) + 3 * CHUNK, 9) &&
	      !ramfs_map_overlaps(P(m) - 1, 1));
	call_close(fd);
	CHECK(CALL(unlink, P("/f")) == 0 && ramfs_unmap(P(m) + CHUNK + PAGE, PAGE) == 0 &&
	      ramfs_map_overlaps(P(m) + CHUNK + PAGE, PAGE));
	m[3] = 'l'; /* without a name and a descriptor */
	CHECK(ramfs_unmap(P(m), 4 * CHUNK) == -EINVAL && ramfs_unmap(P(m), 3 * CHUNK) == 0 && blocks_held == before);
}

/* Neither of its ends nor its middle need go with the rest. */
static void pieces(void)
{
	const long before = blocks_held, fd = call_open("/f", O_RDWR | O_CREAT);
	char *m = map(fd, PAGE, 10 * PAGE - 1);

	CHECK(ramfs_unmap(P(m) + 4 * PAGE, 2 * PAGE - 1) == 0 && !ramfs_map_overlaps(P(m) + 4 * PAGE, 2 * PAGE));
	CHECK(ramfs_map_overlaps(P(m) + 4 * PAGE - 1, 1) && ramfs_map_overlaps(P(m) + 6 * PAGE, 1));
	CHECK(ramfs_unmap(P(m), 10 * PAGE) == -EINVAL && ramfs_unmap(P(m) + 3 * PAGE, 2 * PAGE) == -EINVAL);
	CHECK(ramfs_unmap(P(m), PAGE) == 0 && !ramfs_map_overlaps(P(m), PAGE) &&
	      ramfs_unmap(P(m) + 3 * PAGE, PAGE) == 0);
	CHECK(ramfs_map_overlaps(P(m) + PAGE, 2 * PAGE) && !ramfs_map_overlaps(P(m) + 3 * PAGE, 3 * PAGE));
	CHECK(CALL(ftruncate, fd, 8 * PAGE) == 0);
	m[PAGE] = 'k';
	CHECK(CALL(ftruncate, fd, 20) == 0 && CALL(ftruncate, fd, 8 * PAGE) == 0 && at(fd, 2 * PAGE) == 0);
	allocations_left = 0;
	CHECK(ramfs_unmap(P(m) + 7 * PAGE, PAGE) == -ENOMEM && ramfs_map_overlaps(P(m) + 7 * PAGE, PAGE));
	allocations_left = -1;
	CHECK(ramfs_unmap(P(m) + PAGE, 2 * PAGE) == 0 && ramfs_unmap(P(m) + 6 * PAGE, 4 * PAGE) == 0);
	call_close(fd);
	CHECK(CALL(unlink, P("/f")) == 0 && blocks_held == before);
}

/* A mapped page stays where it is, and reads as zero where the file has lost it. */
static void files_that_change(void)
{
	const long before = blocks_held, fd = call_open("/f", O_RDWR | O_CREAT);
	char *m = map(fd, 0, 2 * CHUNK);

	m[9] = m[2 * CHUNK - 1] = 'x';
	CHECK(CALL(ftruncate, fd, 2 * CHUNK) == 0 && at(fd, 9) == 'x' && CALL(ftruncate, fd, 10) == 0 && m[9] == 'x' &&
	      m[2 * CHUNK - 1] == 0);
	CHECK(CALL(ftruncate, fd, 0) == 0 && m[9] == 0);
	m[9] = 'y';
	put(fd, 'z', 2 * CHUNK + 1);
	CHECK(at(fd, 9) == 'y' && map(fd, CHUNK, 2 * CHUNK) == (char *)-ENOMEM); /* half of it lies elsewhere */
	const char *third = map(fd, 2 * CHUNK, PAGE);
	CHECK(third[1] == 'z' && m[9] == 'y' && CALL(ftruncate, fd, CHUNK) == 0 && third[1] == 0);
	const long held = blocks_held;
	m[CHUNK + 3] = 'v'; /* behind the end */
	/* one is left */
	CHECK(ramfs_unmap(P(third), PAGE) == 0 && CALL(ftruncate, fd, CHUNK) == 0 && m[CHUNK + 3] == 0);
	m[CHUNK + 3] = 'v';
	CHECK(ramfs_unmap(P(m), 2 * CHUNK) == 0 && blocks_held == held - 2 - 2 * CHUNK / PAGE);
	CHECK(ramfs_unmap(P(m), PAGE) == -EINVAL && CALL(ftruncate, fd, 2 * CHUNK) == 0 && at(fd, CHUNK + 3) == 0 &&
	      at(fd, 9) == 'y');
	call_close(fd);
	CHECK(CALL(unlink, P("/f")) == 0 && blocks_held == before);
}

static void of_the_deployment(void)
{
	const long fd = call_open("/own", O_RDWR), other = call_open("/other", O_RDWR | O_CREAT);
	const long small = call_open("/shared", O_RDONLY), directory = call_open("/", O_RDONLY);
	char *m = map(fd, CHUNK, 2 * CHUNK);

	CHECK(m[0] == 'o' && m[2 * CHUNK - 1] == 'o' && map(fd, 3 * CHUNK, PAGE)[200000 - 3 * CHUNK] == 0);
	m[1] = 'c';
	CHECK(at(fd, CHUNK + 1) == 'c' && at(fd, CHUNK + 2) == 'o' && at(fd, 5) == 'o');
	CHECK(is_error(map(small, 0, 1), ENODEV) && is_error(map(directory, 0, 1), ENODEV) &&
	      is_error(map(fd, 0, SIZE_MAX), EOVERFLOW));
	CHECK(is_error(map(fd, 0, 5 << 20), ENOMEM) && is_error(map(fd, 1l << 40, 1), ENOMEM)); /* `storage` is 4 MiB */
	m = map(other, 0, 3 << 20);
	CHECK(!is_error(m, ENOMEM) && is_error(map(fd, 4 * CHUNK, 1 << 20), ENOMEM) && ramfs_unmap(P(m), 3 << 20) == 0);
	m = map(fd, CHUNK, PAGE);
	for (allocations_left = 0; is_error(map(fd, 0, PAGE), ENOMEM);)
		allocations_left = allocations_left < 0 ? 9 : 5;
	CHECK(allocations_left > 0);
	allocations_left = -1;
	CHECK(CALL(msync, P(m), 5, MS_SYNC) == 0 && CALL(msync, P(m) + 1, 5, MS_SYNC) == -EINVAL &&
	      CALL(msync, P(m), 5, MS_SYNC | MS_ASYNC) == -EINVAL);
	there = false;
	CHECK(CALL(msync, P(m), 5, 64) == -EINVAL && CALL(msync, P(m), 5, MS_ASYNC) == -ENOMEM &&
	      CALL(msync, P(m), 0, MS_SYNC) == 0);
}

int main(void)
{
	const struct file_tree *tree = tree_make(files, sizeof(files) / sizeof(files[0]));

	tree_give(tree, tree->size);
	call_close(call_open("/first", O_RDWR | O_CREAT)); /* and all that comes with the first call */
	writes_are_seen();
	pieces();
	files_that_change();
	of_the_deployment();
	return 0;
}
