/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of a volume at /data, by POSIX alone: the same source runs on Linux, where the folder is the argument. Prints
 * what it finds, and a line that begins with "wrong" for each answer that is not Linux's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define CHECK(condition) \
	do { \
		if (!(condition)) \
			printf("wrong: line %d: %s (%s)\n", __LINE__, #condition, strerror(errno)); \
	} while (0)
#define FAILS(call, error) CHECK((call) == -1 && errno == (error))

enum { LARGE = 300000, ROWS = 1000 };

/* A table of results, as any program writes one: under another name until it is whole. */
static void write_table(void)
{
	FILE *file = fopen("results.csv.new", "w");

	CHECK(file);
	fprintf(file, "n,square\n");
	for (int n = 0; n < ROWS; n++)
		fprintf(file, "%d,%d\n", n, n * n);
	CHECK(!fflush(file) && !fsync(fileno(file)) && !fclose(file));
	CHECK(!rename("results.csv.new", "results.csv"));
	FAILS(access("results.csv.new", F_OK), ENOENT);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void list(const char *path)
{
	DIR *directory = opendir(path);
	char *names[100];
	int count = 0;

	CHECK(directory);
	for (struct dirent *entry; directory && (entry = readdir(directory)) && count < 100;)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			names[count++] = strdup(entry->d_name);
	if (directory)
		closedir(directory);
	qsort(names, (size_t)count, sizeof(names[0]), by_name);
	printf("in %s:", path);
	for (int i = 0; i < count; i++) {
		printf(" %s", names[i]);
		free(names[i]);
	}
	printf("\n");
}

static void positions(void)
{
	char *bytes = malloc(LARGE), small[16] = "";
	int fd = open("large", O_RDWR | O_CREAT | O_TRUNC, 0640);

	for (int i = 0; i < LARGE; i++)
		bytes[i] = (char)(i % 251);
	CHECK(fd >= 0 && write(fd, bytes, LARGE) == LARGE && lseek(fd, 0, SEEK_END) == LARGE);
	memset(bytes, 0, LARGE);
	CHECK(pread(fd, bytes, LARGE, 0) == LARGE);
	for (int i = 0; i < LARGE; i++)
		if (bytes[i] != (char)(i % 251)) {
			CHECK(bytes[i] == (char)(i % 251));
			break;
		}
	CHECK(pwrite(fd, "middle", 6, 200000) == 6 && pread(fd, small, 8, 199999) == 8);
	CHECK(small[0] == (char)(199999 % 251) && !memcmp(small + 1, "middle", 6));
	CHECK(pread(fd, small, 8, LARGE - 3) == 3 && pread(fd, small, 8, LARGE) == 0);
	const char *map = mmap(0, LARGE, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(map != MAP_FAILED && !memcmp(map + 200000, "middle", 6) && !munmap((void *)map, LARGE));
	CHECK(!ftruncate(fd, 100) && lseek(fd, -1, SEEK_END) == 99 && read(fd, small, 8) == 1);
	CHECK(lseek(fd, 1000, SEEK_SET) == 1000 && write(fd, "x", 1) == 1);
	CHECK(pread(fd, small, 2, 999) == 2 && !small[0]);
	CHECK(!fdatasync(fd) && !close(fd));
	FAILS(read(fd, small, 1), EBADF);
	free(bytes);
	fd = open("large", O_WRONLY | O_APPEND);
	CHECK(write(fd, "end", 3) == 3 && lseek(fd, 0, SEEK_CUR) == 1004);
	FAILS(read(fd, small, 1), EBADF);
	close(fd);
}

static void names(void)
{
	struct stat st;
	char deep[300];
	int directory, fd;

	CHECK(!mkdir("folder", 0755) && !mkdir("folder/below", 0700));
	FAILS(mkdir("folder", 0755), EEXIST);
	FAILS(mkdir("missing/below", 0755), ENOENT);
	CHECK((fd = open("folder/below/file", O_CREAT | O_EXCL | O_WRONLY, 0600)) >= 0 && !close(fd));
	FAILS(open("folder/below/file", O_CREAT | O_EXCL | O_WRONLY, 0600), EEXIST);
	FAILS(open("folder", O_WRONLY), EISDIR);
	FAILS(open("folder/below/file", O_RDONLY | O_DIRECTORY), ENOTDIR);
	FAILS(open("folder/below/file/more", O_RDONLY), ENOTDIR);
	FAILS(rmdir("folder"), ENOTEMPTY);
	FAILS(unlink("missing"), ENOENT);
	CHECK((directory = open("folder", O_RDONLY | O_DIRECTORY)) >= 0);
	CHECK(!fstatat(directory, "below/../below/file", &st, 0) && S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0600);
	CHECK(!fchdir(directory) && !stat("below", &st) && S_ISDIR(st.st_mode));
	CHECK(!stat("../large", &st) && st.st_size == 1004);
	CHECK(!chdir("..") && !close(directory));
	CHECK(!rename("folder/below/file", "moved") && !rmdir("folder/below") && !rmdir("folder"));
	CHECK(!chmod("moved", 0644) && !stat("moved", &st) && (st.st_mode & 0777) == 0644 && !truncate("moved", 5000));
	CHECK(!stat("moved", &st) && st.st_size == 5000);
	CHECK(!utimensat(AT_FDCWD, "moved", (struct timespec[]){ { 1000, 0 }, { 2000, 500 } }, 0));
	CHECK(!stat("moved", &st) && st.st_mtim.tv_sec == 2000 && st.st_mtim.tv_nsec == 500);
	memset(deep, 'x', sizeof(deep));
	deep[256] = 0;
	FAILS(open(deep, O_RDONLY), ENAMETOOLONG);
}

/* What was removed is there for those that have it open. */
static void removed(void)
{
	char text[8] = "";
	int fd = open("gone", O_RDWR | O_CREAT, 0600);

	CHECK(write(fd, "still", 5) == 5 && !unlink("gone"));
	FAILS(access("gone", F_OK), ENOENT);
	CHECK(pread(fd, text, 5, 0) == 5 && !strcmp(text, "still") && !close(fd));
}

static void read_table(void)
{
	FILE *file = fopen("results.csv", "r");
	char line[64], last[64] = "";
	int count = 0;

	while (file && fgets(line, sizeof(line), file)) {
		count++;
		strcpy(last, line);
	}
	printf("read %d lines, the last is %s", count, file ? last : "none\n");
	if (file)
		fclose(file);
}

/* Writes until the disk is full, and what is removed is room again. */
static void fill(void)
{
	static char block[65536];
	int fd = open("filler", O_WRONLY | O_CREAT, 0600), error = 0;
	struct statfs space;

	for (int i = 0; i < 1000 && !error; i++)
		if (write(fd, block, sizeof(block)) < 0)
			error = errno;
	printf("full: %s\n", strerror(error));
	CHECK(!close(fd) && !unlink("filler") && !statfs(".", &space) && space.f_bavail > 0);
	fd = open("after", O_WRONLY | O_CREAT, 0600);
	CHECK(write(fd, "room", 4) == 4 && !fsync(fd) && !close(fd));
}

/* Tries until the folder has gone: then nothing can be made, and an error stays. */
static void vanish(void)
{
	int fd, tries = 0, error = 0;

	printf("waits\n");
	while (!error && tries++ < 1000000) {
		fd = open("probe", O_WRONLY | O_CREAT, 0600);
		if (fd < 0)
			error = errno;
		close(fd);
		unlink("probe");
	}
	printf("gone: %s\n", strerror(error));
	FAILS(mkdir("again", 0755), EIO);
	FAILS(open("again", O_WRONLY | O_CREAT, 0600), EIO);
}

/* No name leads out. */
static void escape(void)
{
	static const char *const paths[] = { "link", "../../../../etc/hostname-of-the-host", "/data/../secret" };
	FILE *file;

	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		file = fopen(paths[i], "r");
		printf("%s: %s\n", paths[i], file ? "opened" : strerror(errno));
		if (file)
			fclose(file);
	}
	FAILS(unlink("/data"), EISDIR);
	FAILS(rmdir("/data"), EBUSY);
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "write";

	if (chdir(count > 2 ? arguments[2] : "/data")) {
		printf("wrong: no /data: %s\n", strerror(errno));
		return 1;
	}
	if (!strcmp(what, "write")) {
		write_table();
		positions();
		names();
		removed();
		list(".");
	} else if (!strcmp(what, "full")) {
		fill();
	} else if (!strcmp(what, "vanish")) {
		vanish();
	} else if (!strcmp(what, "escape")) {
		escape();
	}
	read_table();
	return 0;
}
