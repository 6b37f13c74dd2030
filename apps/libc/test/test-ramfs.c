/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file system of programs, without a program: paths, contents, failures, and trees of files of which bytes are
 * wrong. There is one file system in a process, so each of these has one of its own; `test-ramfs SEED` looks at one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ramfs-host.h"

enum { DIRECTORY = FILE_TREE_DIRECTORY | 0755, LARGE = 100 << 20, OWN = 200000, SEEDS = 200 };

static const struct host_file files[] = {
	{ "", DIRECTORY, 0, 0 },
	{ "data", DIRECTORY, 0, 0 },
	{ "etc", DIRECTORY, 0, 0 },
	{ "data/large", 0644, LARGE, 0 },
	{ "data/own", FILE_TREE_WRITABLE | 0644, OWN, 'o' },
	{ "data/empty", 0644, 0, 0 },
	{ "data/sub", DIRECTORY, 0, 0 },
	{ "etc/passwd", 0600, 6, 'p' },
	{ "data/sub/deep", 0755, 70000, 'd' },
};

static bool is(long result, long expected)
{
	if (result != expected)
		fprintf(stderr, "%ld in place of %ld\n", result, expected);
	return result == expected;
}

static void paths(void)
{
	char name[FILE_TREE_NAME + 2], longest[5000], where[64];
	struct stat st;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	memset(longest, '/', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	CHECK(is(CALL(stat, P("/../..//data/./sub/../sub//deep"), P(&st)), 0) && st.st_size == 70000);
	CHECK(is(CALL(stat, P("/data/sub/deep/"), P(&st)), -ENOTDIR) &&
	      is(CALL(stat, P("/data/sub/deep/.."), P(&st)), -ENOTDIR));
	CHECK(is(CALL(stat, P("/data/none/../sub"), P(&st)), -ENOENT) && is(CALL(stat, P(""), P(&st)), -ENOENT));
	CHECK(is(CALL(stat, 0, P(&st)), -EFAULT) && is(CALL(stat, P(longest), P(&st)), -ENAMETOOLONG));
	CHECK(is(CALL(mkdir, P(name), 0755), -ENAMETOOLONG));
	name[FILE_TREE_NAME] = 0;
	CHECK(is(CALL(mkdir, P(name), 0755), 0) && is(CALL(rmdir, P(name)), 0));
	CHECK(is(CALL(mkdir, P("/new/"), 0755), 0) && is(CALL(mkdir, P("/new"), 0755), -EEXIST) &&
	      is(CALL(mkdir, P("/"), 0755), -EEXIST));
	CHECK(is(call_open("/new/", O_CREAT | O_WRONLY), -EISDIR) &&
	      is(call_open("/new/f/", O_CREAT | O_WRONLY), -EISDIR));
	CHECK(is(CALL(rmdir, P("/new/.")), -EINVAL) && is(CALL(rmdir, P("/")), -EBUSY) &&
	      is(CALL(rmdir, P("/data")), -ENOTEMPTY));
	CHECK(is(CALL(rename, P("/new"), P("/new/inside")), -EINVAL) && is(CALL(rename, P("/data"), P("/new")), 0));
	CHECK(is(CALL(stat, P("/new/sub/deep"), P(&st)), 0) && is(CALL(rename, P("/new"), P("/data")), 0));
	CHECK(is(CALL(chdir, P("/data/sub")), 0) && is(CALL(rename, P("/data/sub"), P("/moved")), 0));
	CHECK(is(CALL(getcwd, P(where), sizeof(where)), 7) && !strcmp(where, "/moved") &&
	      is(CALL(stat, P("deep"), P(&st)), 0));
	CHECK(is(CALL(getcwd, P(where), 6), -ERANGE) && is(CALL(rename, P("../moved"), P("/data/sub")), 0));
	CHECK(is(CALL(mkdir, P("/gone"), 0755), 0) && is(CALL(chdir, P("/gone")), 0) && is(CALL(rmdir, P("/gone")), 0));
	CHECK(is(CALL(getcwd, P(where), sizeof(where)), -ENOENT) && is(CALL(stat, P("."), P(&st)), -ENOENT));
	CHECK(is(call_open("f", O_CREAT | O_WRONLY), -ENOENT) && is(CALL(chdir, P("..")), -ENOENT) &&
	      is(CALL(chdir, P("/")), 0));
	long fd = call_open("/data", O_RDONLY | O_DIRECTORY), file = CALL(openat, fd, P("sub/deep"), O_RDONLY);
	CHECK(fd >= 0 && file >= 0 && is(CALL(openat, file, P("x"), O_RDONLY), -ENOTDIR) &&
	      is(CALL(openat, 60, P("x"), O_RDONLY), -EBADF));
	CHECK(is(CALL(fchdir, fd), 0) && is(CALL(access, P("own"), W_OK), 0) && is(CALL(chdir, P("/")), 0));
	call_close(fd);
	call_close(file);
}

static void what_is_shared(void)
{
	char text[8];
	struct stat st;
	long fd = call_open("/data/large", O_RDONLY);

	CHECK(is(call_open("/data/large", O_WRONLY), -EROFS) &&
	      is(call_open("/data/empty", O_RDONLY | O_TRUNC), -EROFS));
	CHECK(is(CALL(unlink, P("/data/large")), -EROFS) && is(CALL(truncate, P("/data/large"), 0), -EROFS));
	CHECK(is(CALL(rename, P("/data/own"), P("/data/empty")), -EROFS) &&
	      is(CALL(rename, P("/data/empty"), P("/x")), -EROFS));
	CHECK(is(CALL(access, P("/data/large"), W_OK), -EROFS) && is(CALL(access, P("/data/large"), X_OK), -EACCES));
	CHECK(is(CALL(access, P("/data/sub/deep"), X_OK), 0) && is(CALL(access, P("/data/own"), 8), -EINVAL));
	CHECK(is(CALL(pread64, fd, P(text), 8, LARGE - 3), 3) && is(CALL(pread64, fd, P(text), 8, 1l << 40), 0));
	CHECK(is(CALL(lseek, fd, 1l << 62, SEEK_SET), 1l << 62) && is(CALL(lseek, fd, 1l << 62, SEEK_CUR), -EOVERFLOW));
	CHECK(is(CALL(lseek, fd, -1, SEEK_SET), -EINVAL) && is(CALL(lseek, fd, 0, SEEK_END), LARGE));
	call_close(fd);
	CHECK(is(CALL(stat, P("/etc/passwd"), P(&st)), 0) && st.st_size == 6); /* in place of the layer's own */
	CHECK(is(CALL(stat, P("/etc/group"), P(&st)), 0) && is(CALL(stat, P("/dev/null"), P(&st)), 0) &&
	      S_ISCHR(st.st_mode));
}

/* Reads, writes and cuts at random places, of the deployment's file and of a new one, are as of plain memory. */
static void contents(const char *path, size_t size, unsigned steps)
{
	enum { ROOM = 300000, PIECE = 5000 };
	static char plain[ROOM + PIECE], piece[PIECE], found[PIECE];
	long fd = call_open(path, O_RDWR | O_CREAT);

	memset(plain, 0, sizeof(plain));
	memset(plain, 'o', size);
	for (unsigned step = 0; step < steps; step++) {
		size_t at = (size_t)rand() % (step % 3 ? ROOM : ROOM / 20), n = 1 + (size_t)rand() % PIECE;

		if (step % 8 == 7) {
			CHECK(is(CALL(ftruncate, fd, (long)at), 0));
			memset(plain + at, 0, sizeof(plain) - at);
			size = at;
		} else if (step % 2) {
			memset(piece, 'a' + (int)(step % 26), n);
			CHECK(is(CALL(pwrite64, fd, P(piece), (long)n, (long)at), (long)n));
			memcpy(plain + at, piece, n);
			size = at + n > size ? at + n : size;
		} else {
			size_t there = at >= size ? 0 : size - at < n ? size - at : n;
			CHECK(is(CALL(pread64, fd, P(found), (long)n, (long)at), (long)there) &&
			      !memcmp(found, plain + at, there));
		}
	}
	call_close(fd);
	CHECK(is(CALL(unlink, P(path)), 0));
}

static unsigned list(const char *path, size_t room)
{
	char entries[2048];
	unsigned count = 0;
	long fd = call_open(path, O_RDONLY), n;

	while ((n = CALL(getdents64, fd, P(entries), (long)room)) > 0)
		for (long at = 0; at < n; at += ((struct dirent *)(entries + at))->d_reclen)
			count++;
	CHECK(n == 0);
	call_close(fd);
	return count;
}

/* Ten thousand files, listed in small pieces and taken away while they are listed. */
static void many(void)
{
	enum { COUNT = 10000 };
	char name[32], entries[1024];
	struct stat st;
	long fd, n;

	CHECK(is(CALL(mkdir, P("/many"), 0755), 0));
	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "/many/%u", i);
		CHECK((fd = call_open(name, O_CREAT | O_EXCL | O_WRONLY)) >= 0);
		call_close(fd);
	}
	CHECK(list("/many", 64) == COUNT + 2 && is(CALL(stat, P("/many/9999"), P(&st)), 0));
	CHECK((fd = call_open("/many", O_RDONLY)) >= 0 && is(CALL(getdents64, fd, P(entries), 8), -EINVAL));
	unsigned removed = 0;
	while ((n = CALL(getdents64, fd, P(entries), sizeof(entries))) > 0)
		for (long at = 0; at < n; at += ((struct dirent *)(entries + at))->d_reclen) {
			const struct dirent *e = (const struct dirent *)(entries + at);
			snprintf(name, sizeof(name), "/many/%.20s", e->d_name);
			removed += e->d_name[0] != '.' && CALL(unlink, P(name)) == 0;
		}
	CHECK(removed == COUNT && is(CALL(rmdir, P("/many")), 0) && is(CALL(getdents64, fd, P(entries), 1024), 0));
	call_close(fd);
}

static unsigned links(const char *path)
{
	struct stat st;

	return CALL(stat, P(path), P(&st)) ? 0 : (unsigned)st.st_nlink;
}

/* A file lives as long as it has a name or is open, whichever name came first; and all of it is given back. */
static void names(void)
{
	char text[4] = "";
	const long before = blocks_held;
	long fd = call_open("/a", O_CREAT | O_RDWR);

	CHECK(is(CALL(pwrite64, fd, P("abc"), 3, 0), 3) && is(CALL(link, P("/a"), P("/b")), 0) && links("/a") == 2);
	call_close(fd);
	CHECK(is(CALL(link, P("/b"), P("/c")), 0) && links("/c") == 3 && is(CALL(link, P("/a"), P("/b")), -EEXIST));
	CHECK(is(CALL(link, P("/none"), P("/d")), -ENOENT) && is(CALL(link, P("/etc"), P("/d")), -EPERM) &&
	      is(CALL(link, P("/data/large"), P("/d")), -EROFS) && is(CALL(link, P("/a"), P("/d/")), -ENOENT));
	CHECK(is(CALL(linkat, AT_FDCWD, P("/a"), AT_FDCWD, P("/d"), AT_EMPTY_PATH), -EINVAL));
	CHECK(is(CALL(unlink, P("/a")), 0) && links("/b") == 2 &&
	      is(CALL(rename, P("/b"), P("/c")), 0) && links("/c") == 2);
	CHECK(is(CALL(rename, P("/b"), P("/d")), 0) && links("/b") == 0 && links("/d") == 2);
	CHECK((fd = call_open("/c", O_RDONLY)) >= 0 && is(CALL(unlink, P("/c")), 0) && is(CALL(unlink, P("/d")), 0));
	CHECK(is(CALL(pread64, fd, P(text), 3, 0), 3) && !strcmp(text, "abc"));
	call_close(fd);
	CHECK(is(blocks_held, before));
	call_close(call_open("/a", O_CREAT | O_RDWR));
	long more = 0;
	for (char name[16]; snprintf(name, sizeof(name), "/n%ld", more), CALL(link, P("/a"), P(name)) == 0; more++) {
	}
	CHECK(more == RAMFS_LINKS && links("/a") == RAMFS_LINKS + 1);
	for (char name[16]; more--;)
		CHECK(snprintf(name, sizeof(name), "/n%ld", more) > 0 && is(CALL(unlink, P(name)), 0));
	CHECK(links("/a") == 1 && is(CALL(unlink, P("/a")), 0));
}

/* Whatever allocation fails, the call says so and leaves what was there. */
static void failures(void)
{
	char text[100] = "";
	const long before = blocks_held;

	for (long most = 0; most < 12; most++) {
		allocations_left = most;
		long directory = CALL(mkdir, P("/short"), 0755), fd = call_open("/short/file", O_CREAT | O_RDWR);
		long written = fd < 0 ? 0 : CALL(pwrite64, fd, P(text), 100, 70000),
		     moved = CALL(rename, P("/short/file"), P("/short/moved"));
		allocations_left = -1;
		CHECK(directory == 0 || (directory == -ENOSPC && fd == -ENOENT));
		CHECK(fd >= 0 || fd == -ENOENT || fd == -ENOSPC || fd == -ENOMEM);
		CHECK(written == 100 || written == -ENOSPC || fd < 0);
		if (fd >= 0)
			call_close(fd);
		if (CALL(unlink, P(moved ? "/short/file" : "/short/moved")))
			CHECK(fd < 0);
		if (!directory)
			CHECK(is(CALL(rmdir, P("/short")), 0));
		CHECK(is(blocks_held, before));
	}
}

/* The space for files is that of `storage`, and it comes back. */
static void full(void)
{
	static char block[65536];
	long fd = call_open("/full", O_CREAT | O_RDWR), n, written = 0, small;

	while ((n = CALL(pwrite64, fd, P(block), sizeof(block), written)) > 0)
		written += n;
	CHECK(is(n, -ENOSPC) && is(written, (long)host_info.storage));
	CHECK((small = call_open("/small", O_CREAT | O_RDWR)) >= 0 && is(CALL(pwrite64, small, P("x"), 1, 0), -ENOSPC));
	CHECK(is(CALL(pwrite64, fd, P(block), 1, 1l << 40), -ENOSPC) && is(CALL(ftruncate, fd, 0), 0));
	CHECK(is(CALL(pwrite64, small, P("x"), 1, 0), 1));
	call_close(fd);
	call_close(small);
	CHECK(is(CALL(unlink, P("/full")), 0) && is(CALL(unlink, P("/small")), 0));
}

static struct stat stat_of(const char *path)
{
	struct stat st = { 0 };

	CHECK(is(CALL(stat, P(path), P(&st)), 0));
	return st;
}

static long set_times(const char *path, long flags, long accessed, long accessed_ns, long modified, long modified_ns)
{
	return CALL(utimensat, AT_FDCWD, P(path),
	            P(((const struct timespec[]){ { accessed, accessed_ns }, { modified, modified_ns } })), flags);
}

/* Times that a program sets stay until the file changes, or are refused. */
static void times(void)
{
	const long before = blocks_held, fd = call_open("/timed", O_CREAT | O_RDWR);
	struct stat st;

	host_time = 5000000000;
	CHECK(is(set_times("/timed", 0, -7, 8, 9l << 40, 999999999), 0));
	st = stat_of("/timed");
	CHECK(st.st_atim.tv_sec == -7 && st.st_atim.tv_nsec == 8 && st.st_mtim.tv_sec == 9l << 40 &&
	      st.st_mtim.tv_nsec == 999999999);
	CHECK(st.st_ctim.tv_sec == 5 && st.st_ctim.tv_nsec > 0);
	CHECK(is(set_times("/timed", 0, 1, UTIME_OMIT, 11, 0), 0) && stat_of("/timed").st_atim.tv_sec == -7 &&
	      stat_of("/timed").st_mtim.tv_sec == 11);
	host_time = 6000000000;
	CHECK(is(set_times("/timed", 0, 0, UTIME_NOW, 0, UTIME_OMIT), 0) && stat_of("/timed").st_atim.tv_sec == 6 &&
	      stat_of("/timed").st_mtim.tv_sec == 11);
	host_time = 7000000000;
	CHECK(is(CALL(pwrite64, fd, P("x"), 1, 0), 1));
	st = stat_of("/timed");
	CHECK(st.st_mtim.tv_sec == 7 && st.st_ctim.tv_sec == 7 && st.st_atim.tv_sec == 6);
	host_time = 8000000000;
	CHECK(is(set_times("/timed", 0, 0, UTIME_OMIT, 0, UTIME_NOW), 0) && stat_of("/timed").st_mtim.tv_sec == 8);
	host_time = 9000000000;
	CHECK(is(CALL(utimensat, fd, 0, 0, 0), 0));
	st = stat_of("/timed");
	CHECK(st.st_mtim.tv_sec == 9 && st.st_atim.tv_sec == 9 && st.st_atim.tv_nsec == st.st_mtim.tv_nsec);
	CHECK(is(set_times("/timed", 0, 1, 1000000000, 1, 0), -EINVAL) &&
	      is(set_times("/timed", 0, 1, 0, 1, -1), -EINVAL));
	CHECK(stat_of("/timed").st_mtim.tv_sec == 9);
	CHECK(is(set_times("/timed", 1, 1, 0, 1, 0), -EINVAL) && is(set_times("/none", 0, 1, 0, 1, 0), -ENOENT));
	CHECK(is(set_times("/data/large", 0, 1, 0, 1, 0), -EROFS));
	CHECK(is(set_times("/none", 0, 0, UTIME_OMIT, 0, UTIME_OMIT), 0) && is(CALL(utimensat, 60, 0, 0, 0), -EBADF));
	CHECK(is(set_times("", 0, 1, 0, 1, 0), -ENOENT));
	CHECK(is(CALL(utimensat, fd, P(""), P(((const struct timespec[]){ { 1, 0 }, { 2, 0 } })), AT_EMPTY_PATH), 0) &&
	      stat_of("/timed").st_mtim.tv_sec == 2);
	CHECK(is(set_times("/tmp", AT_SYMLINK_NOFOLLOW, 3, 0, 4, 0), 0) && stat_of("/tmp").st_mtim.tv_sec == 4);
	call_close(fd);
	CHECK(is(CALL(unlink, P("/timed")), 0) && is(blocks_held, before + 1)); /* of /tmp */
	allocations_left = 0;
	CHECK(is(set_times("/data/own", 0, 1, 0, 1, 0), -ENOSPC));
	allocations_left = -1;
}

/* Everything that can be reached in a tree of which bytes are wrong; the sanitizers watch. */
static void look_through(const char *path, unsigned depth)
{
	char entries[2048], below[600], content[4096];
	long fd = call_open(path, O_RDONLY), n;

	if (fd < 0)
		return;
	while ((n = CALL(getdents64, fd, P(entries), sizeof(entries))) > 0)
		for (long at = 0; depth && at < n; at += ((struct dirent *)(entries + at))->d_reclen) {
			const struct dirent *e = (const struct dirent *)(entries + at);
			if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
				continue;
			if (snprintf(below, sizeof(below), "%s/%s", path, e->d_name) < (int)sizeof(below))
				look_through(below, depth - 1);
		}
	struct stat st = { 0 };
	CALL(fstat, fd, P(&st));
	for (long at = 0; at < 40000 && (n = CALL(pread64, fd, P(content), sizeof(content), at)) > 0; at += n) {
	}
	if (st.st_size > 0)
		CALL(pread64, fd, P(content), sizeof(content), st.st_size - 1);
	call_close(fd);
}

static void hostile(unsigned seed)
{
	static const struct host_file few[] = {
		{ "", DIRECTORY, 0, 0 }, { "a", DIRECTORY, 0, 0 }, { "b", 0644, 5000, 'b' }, { "a/c", DIRECTORY, 0, 0 },
		{ "a/d", FILE_TREE_WRITABLE | 0644, 70000, 'd' }, { "a/c/e", 0644, 1, 'e' },
	};
	struct file_tree *tree = tree_make(few, sizeof(few) / sizeof(few[0]));
	const size_t head = sizeof(*tree) + tree->count * sizeof(tree->entry[0]) + 32;

	srand(seed);
	for (unsigned changes = 1 + seed % 4; changes; changes--)
		((unsigned char *)tree)[(size_t)rand() % head] = seed % 2 ? (unsigned char)rand()
			: (unsigned char)(255 * (rand() % 2));
	tree_give(tree, seed % 5 ? tree->size : (size_t)rand() % 80000);
	look_through("", 4);
	look_through("/", 4);
}

static void all_hostile(void)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		int status = 0;
		pid_t child = fork();

		if (!child) {
			hostile(seed);
			_exit(0);
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		if (status)
			fprintf(stderr, "seed %u\n", seed);
		CHECK(status == 0);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		hostile((unsigned)atoi(argv[1]));
		return 0;
	}
	all_hostile();
	const struct file_tree *tree = tree_make(files, sizeof(files) / sizeof(files[0]));
	tree_give(tree, tree->size);
	paths();
	what_is_shared();
	times();
	contents("/data/own", OWN, 20000);
	contents("/fresh", 0, 20000);
	many();
	names();
	failures();
	full();
	CHECK(list("/data", 2048) == 5);
	return 0;
}
