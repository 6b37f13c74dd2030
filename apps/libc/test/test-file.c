/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "posixtest.h"

static bool write_and_read_back(void)
{
	char line[64];
	FILE *f = fopen("/tmp/a", "w+");

	CHECK(f);
	for (int i = 0; i < 20000; i++)
		fprintf(f, "line %d\n", i);
	rewind(f);
	for (int i = 0; i < 20000; i++) {
		int number;
		CHECK(fgets(line, sizeof(line), f) && sscanf(line, "line %d", &number) == 1 && number == i);
	}
	CHECK(!fgets(line, sizeof(line), f));
	fclose(f);
	CHECK(unlink("/tmp/a") == 0);
	CHECK(open("/tmp/a", O_RDONLY) == -1 && errno == ENOENT);
	return true;
}

static bool holes_and_truncation_read_zero(void)
{
	char c = 1;
	struct stat st;
	int fd = open("/tmp/h", O_RDWR | O_CREAT | O_EXCL, 0600);

	CHECK(fd >= 0);
	CHECK(pwrite(fd, "x", 1, 200000) == 1);
	CHECK(pread(fd, &c, 1, 100000) == 1 && c == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 200001 && S_ISREG(st.st_mode));
	CHECK(ftruncate(fd, 10) == 0 && ftruncate(fd, 300000) == 0);
	CHECK(pread(fd, &c, 1, 200000) == 1 && c == 0);
	CHECK(open("/tmp/h", O_RDWR | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	CHECK(unlink("/tmp/h") == 0);
	CHECK(write(fd, "still", 5) == 5); /* unlinked, but open */
	CHECK(close(fd) == 0 && close(fd) == -1 && errno == EBADF);
	return true;
}

static bool append_mode(void)
{
	char all[8] = "";
	int fd = open("/tmp/log", O_WRONLY | O_CREAT | O_APPEND, 0600);

	CHECK(fd >= 0 && write(fd, "ab", 2) == 2);
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && write(fd, "cd", 2) == 2);
	CHECK(read(fd, all, 1) == -1 && errno == EBADF);
	close(fd);
	fd = open("/tmp/log", O_RDONLY);
	CHECK(read(fd, all, sizeof(all)) == 4 && !memcmp(all, "abcd", 4));
	close(fd);
	return unlink("/tmp/log") == 0;
}

static bool rename_replaces(void)
{
	char c;
	int a = open("/tmp/new", O_WRONLY | O_CREAT, 0600), b = open("/tmp/old", O_WRONLY | O_CREAT, 0600);

	CHECK(write(a, "n", 1) == 1 && write(b, "o", 1) == 1);
	close(a);
	close(b);
	CHECK(rename("/tmp/new", "/tmp/old") == 0);
	CHECK(access("/tmp/new", F_OK) == -1);
	a = open("/tmp/old", O_RDONLY);
	CHECK(read(a, &c, 1) == 1 && c == 'n');
	close(a);
	return unlink("/tmp/old") == 0;
}

static bool directories(void)
{
	char where[64];
	unsigned found = 0;

	CHECK(mkdir("/data", 0755) == 0 && mkdir("/data", 0755) == -1 && errno == EEXIST);
	CHECK(chdir("/data") == 0 && getcwd(where, sizeof(where)) && !strcmp(where, "/data"));
	close(open("one", O_WRONLY | O_CREAT, 0600));
	close(open("./x/../two", O_WRONLY | O_CREAT, 0600));
	CHECK(mkdir("three", 0755) == 0);
	DIR *d = opendir(".");
	CHECK(d);
	for (struct dirent *e; (e = readdir(d));)
		found |= !strcmp(e->d_name, "one") ? 1 : !strcmp(e->d_name, "two") ? 2
		         : !strcmp(e->d_name, "three") && e->d_type == DT_DIR ? 4 : 8;
	closedir(d);
	CHECK(found == 7);
	CHECK(rmdir("/data") == -1 && errno == ENOTEMPTY);
	CHECK(unlink("one") == 0 && unlink("/data/two") == 0 && rmdir("three") == 0);
	CHECK(chdir("/") == 0 && rmdir("/data") == 0);
	CHECK(open("/nowhere/f", O_WRONLY | O_CREAT, 0600) == -1 && errno == ENOENT);
	return true;
}

static bool devices(void)
{
	unsigned char a[64] = { 0 }, b[64] = { 0 };
	int fd = open("/dev/urandom", O_RDONLY);

	CHECK(fd >= 0 && read(fd, a, sizeof(a)) == sizeof(a) && read(fd, b, sizeof(b)) == sizeof(b));
	CHECK(memcmp(a, b, sizeof(a)));
	close(fd);
	fd = open("/dev/null", O_RDWR);
	CHECK(write(fd, a, 10) == 10 && read(fd, a, 10) == 0);
	close(fd);
	CHECK(open("/proc/self/smaps", O_RDONLY) == -1 && errno == ENOENT);
	return true;
}

static bool lowest_descriptor(void)
{
	int a = open("/dev/null", O_RDONLY), b = dup(a), c = dup(b);

	CHECK(b == a + 1 && c == b + 1);
	close(a);
	CHECK(fcntl(c, F_DUPFD, 100) == 100 && close(100) == 0);
	CHECK(dup(c) == a && dup2(c, b) == b);
	CHECK(fcntl(b, F_GETFL) == O_RDONLY);
	close(a), close(b), close(c);
	return true;
}

static bool formatted_output(void)
{
	char text[64];

	CHECK(snprintf(text, sizeof(text), "%5.2f|%-4s|%08x|%lld", 3.14159, "ab", 0xbeef, -5ll) == 22);
	CHECK(!strcmp(text, " 3.14|ab  |0000beef|-5"));
	CHECK(strtod("2.5e3", 0) == 2500.0);
	return true;
}

const struct test file_tests[] = {
	{ "a file reads back as written", write_and_read_back },
	{ "holes and truncation read as zero", holes_and_truncation_read_zero },
	{ "append mode", append_mode },
	{ "rename replaces", rename_replaces },
	{ "directories", directories },
	{ "devices", devices },
	{ "descriptors are the lowest free", lowest_descriptor },
	{ "formatted output", formatted_output },
	{ 0 },
};
