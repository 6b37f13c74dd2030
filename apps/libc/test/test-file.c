/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>
#include "posixtest.h"

TEST(write_and_read_back, "a file reads back as written")
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

TEST(holes_and_truncation_read_zero, "holes and truncation read as zero")
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

TEST(vectors_and_sendfile, "vectors at offsets, sendfile")
{
	char a[3] = "", b[6] = "";
	struct iovec parts[2] = { { a, 2 }, { b, 5 } };
	int fd = open("/tmp/v", O_RDWR | O_CREAT, 0600), ends[2];
	off_t at = 4;

	CHECK(fd >= 0 && pwrite(fd, "0123456789", 10, 0) == 10);
	CHECK(preadv(fd, parts, 2, 1) == 7 && !strcmp(a, "12") && !strcmp(b, "34567"));
	CHECK(pwritev(fd, parts, 2, 5) == 7 && lseek(fd, 0, SEEK_CUR) == 0 && lseek(fd, 0, SEEK_END) == 12);
	CHECK(pipe(ends) == 0 && sendfile(ends[1], fd, &at, 3) == 3 && at == 7 && lseek(fd, 0, SEEK_CUR) == 12);
	CHECK(read(ends[0], b, 5) == 3 && !memcmp(b, "412", 3));
	CHECK(sendfile(ends[1], fd, 0, 9) == 0 && lseek(fd, 10, SEEK_SET) == 10 && sendfile(ends[1], fd, 0, 9) == 2);
	CHECK(lseek(fd, 0, SEEK_CUR) == 12 && read(ends[0], b, 5) == 2 && !memcmp(b, "67", 2));
	CHECK(sendfile(fd, ends[0], 0, 1) == -1 && errno == EINVAL && sendfile(-1, fd, 0, 1) == -1 && errno == EBADF);
	CHECK(sendfile(ends[0], fd, &(off_t){ 0 }, 1) == -1 && errno == EBADF);
	close(ends[0]), close(ends[1]), close(fd);
	return unlink("/tmp/v") == 0;
}

TEST(append_mode, "append mode")
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

/* A size is set, longer or shorter, and memory is taken for what is written only. */
TEST(sizes_of_holes, "sizes of files with holes")
{
	char bytes[3] = { 0 };
	int fd = open("/tmp/hole", O_RDWR | O_CREAT, 0600);

	CHECK(ftruncate(fd, 1l << 40) == 0 && pread(fd, bytes, 1, (1l << 40) - 1) == 1 && bytes[0] == 0);
	CHECK(ftruncate(fd, (1l << 39) + 1) == 0); /* of a file that has nothing yet */
	CHECK(pwrite(fd, "abc", 3, 0) == 3);
	/* far behind what it has */
	CHECK(ftruncate(fd, (1l << 30) + 1) == 0 && lseek(fd, 0, SEEK_END) == (1l << 30) + 1);
	CHECK(ftruncate(fd, 1) == 0 && ftruncate(fd, 3) == 0);
	CHECK(pread(fd, bytes, 3, 0) == 3 && bytes[0] == 'a' && !bytes[1] && !bytes[2]);
	close(fd);
	return unlink("/tmp/hole") == 0;
}

TEST(rename_replaces, "rename replaces")
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

TEST(directories, "directories")
{
	char where[64];
	unsigned found = 0;

	CHECK(mkdir("/data", 0755) == 0 && mkdir("/data", 0755) == -1 && errno == EEXIST);
	CHECK(chdir("/data") == 0 && getcwd(where, sizeof(where)) && !strcmp(where, "/data"));
	close(open("one", O_WRONLY | O_CREAT, 0600));
	CHECK(mkdir("three", 0755) == 0);
	CHECK(open("./x/../two", O_WRONLY | O_CREAT, 0600) == -1 && errno == ENOENT);
	CHECK(open("one/../two", O_WRONLY | O_CREAT, 0600) == -1 && errno == ENOTDIR);
	close(open(".//three/../two", O_WRONLY | O_CREAT, 0600));
	DIR *d = opendir(".");
	CHECK(d);
	for (struct dirent *e; (e = readdir(d));)
		found |= !strcmp(e->d_name, "one") ? 1 : !strcmp(e->d_name, "two") ? 2
		         : !strcmp(e->d_name, "three") && e->d_type == DT_DIR ? 4
		         : !strcmp(e->d_name, ".") ? 8 : !strcmp(e->d_name, "..") ? 16 : 32;
	closedir(d);
	CHECK(found == 31);
	CHECK(rmdir("/data") == -1 && errno == ENOTEMPTY);
	CHECK(unlink("one") == 0 && unlink("/data/two") == 0 && rmdir("three") == 0);
	CHECK(chdir("/") == 0 && rmdir("/data") == 0);
	CHECK(open("/nowhere/f", O_WRONLY | O_CREAT, 0600) == -1 && errno == ENOENT);
	return true;
}

TEST(devices, "devices")
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

TEST(lowest_descriptor, "descriptors are the lowest free")
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

TEST(formatted_output, "formatted output")
{
	char text[64];

	CHECK(snprintf(text, sizeof(text), "%5.2f|%-4s|%08x|%lld", 3.14159, "ab", 0xbeef, -5ll) == 22);
	CHECK(!strcmp(text, " 3.14|ab  |0000beef|-5"));
	CHECK(strtod("2.5e3", 0) == 2500.0);
	return true;
}

static unsigned long free_pages(void)
{
	struct sysinfo s;

	return sysinfo(&s) ? 0 : s.freeram;
}

/* Files share the heap with everything else: they may have a part of it, and give it back. */
TEST(files_are_limited_and_freed, "files are limited and freed")
{
	static char block[65536];
	unsigned long before = free_pages(), written = 0;
	struct sysinfo s;
	ssize_t n;
	int small = open("/tmp/small", O_WRONLY | O_CREAT, 0600);
	int large = open("/tmp/large", O_WRONLY | O_CREAT, 0600);

	CHECK(sysinfo(&s) == 0 && small >= 0 && large >= 0);
	CHECK(write(small, "s", 1) == 1);
	while ((n = write(large, block, sizeof(block))) > 0)
		written += (unsigned long)n;
	CHECK(n == -1 && errno == ENOSPC);
	CHECK(written >= 1 << 20 && written <= s.totalram * s.mem_unit / 8);
	CHECK(pwrite(large, "x", 1, 1l << 39) == -1 && errno == ENOSPC); /* nor a table for a hole */
	CHECK(write(large, "", 0) == 0);
	CHECK(write(small, "still the same chunk", 20) == 20);
	/* another: the limit is for all files together */
	CHECK(pwrite(small, "x", 1, 100000) == -1 && errno == ENOSPC);
	CHECK(free_pages() <= before - written / s.mem_unit);
	close(small);
	close(large);
	CHECK(rename("/tmp/small", "/tmp/large") == 0); /* the large one is gone */
	CHECK(free_pages() >= before - 40);
	CHECK((large = open("/tmp/other", O_WRONLY | O_CREAT, 0600)) >= 0);
	for (n = 0; n < 8; n++)
		CHECK(write(large, block, sizeof(block)) == sizeof(block));
	/* one is still open */
	CHECK(unlink("/tmp/other") == 0 && unlink("/tmp/large") == 0 && free_pages() < before - 100);
	CHECK(close(large) == 0 && free_pages() >= before - 8);
	return true;
}

TEST(users_and_hosts, "users and hosts")
{
	char name[256] = "";
	struct passwd *nobody = getpwnam("nobody");
	FILE *hosts = fopen("/etc/hosts", "r");

	CHECK(nobody && nobody->pw_uid == 65534 && getpwuid(0) && !strcmp(getpwuid(0)->pw_name, "root"));
	CHECK(hosts && fgets(name, sizeof(name), hosts) && !strcmp(name, "127.0.0.1 localhost\n"));
	CHECK(fclose(hosts) == 0);
	hosts = fopen("/etc/hosts", "w"); /* what the program writes takes its place */
	CHECK(hosts && fputs("10.0.2.9 other\n", hosts) >= 0 && fclose(hosts) == 0);
	hosts = fopen("/etc/hosts", "r");
	CHECK(hosts && fgets(name, sizeof(name), hosts) && !strcmp(name, "10.0.2.9 other\n") && fclose(hosts) == 0);
	CHECK(unlink("/etc/hosts") == 0 && access("/etc/hosts", R_OK) == -1 && errno == ENOENT);
	CHECK(rmdir("/etc") == -1 && errno == ENOTEMPTY && getgrnam("nogroup")->gr_gid == 65534);
	return true;
}

/* Last of all: there is no way back to root. */
TEST(identities, "identities")
{
	uid_t real, effective, saved;

	CHECK(getuid() == 0 && setgroups(0, 0) == 0 && getgroups(0, 0) == 0);
	CHECK(setresuid(-1, 1000, 0) == 0 && geteuid() == 1000 && getuid() == 0);
	CHECK(setuid(7) == -1 && errno == EPERM && setgroups(0, 0) == -1 && errno == EPERM);
	CHECK(seteuid(0) == 0 && geteuid() == 0);
	CHECK(setgid(65534) == 0 && getgid() == 65534 && getegid() == 65534);
	CHECK(setuid(65534) == 0 && getresuid(&real, &effective, &saved) == 0);
	CHECK(real == 65534 && effective == 65534 && saved == 65534);
	CHECK(setuid(0) == -1 && errno == EPERM && setreuid(0, -1) == -1 && errno == EPERM && setuid(65534) == 0);
	return true;
}

TEST(times_that_are_set, "times that are set")
{
	struct timespec omit[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 77, .tv_nsec = 5 } },
	                wrong[2] = { { .tv_nsec = 1000000000 } };
	struct timeval both[2] = { { 1000, 3 }, { 2000, 4 } };
	int fd = open("timed", O_RDWR | O_CREAT, 0600);
	struct stat st;

	CHECK(fd >= 0 && utimes("timed", both) == 0 && fstat(fd, &st) == 0);
	CHECK(st.st_atim.tv_sec == 1000 && st.st_atim.tv_nsec == 3000 && st.st_mtim.tv_sec == 2000 &&
	      st.st_ctim.tv_sec > 2000);
	CHECK(futimens(fd, omit) == 0 && stat("timed", &st) == 0 && st.st_atim.tv_sec == 1000 &&
	      st.st_mtim.tv_sec == 77 && st.st_mtim.tv_nsec == 5);
	CHECK(futimens(fd, wrong) == -1 && errno == EINVAL && write(fd, "x", 1) == 1 && fstat(fd, &st) == 0);
	CHECK(st.st_mtim.tv_sec > 2000 && st.st_atim.tv_sec == 1000);
	CHECK(utimensat(AT_FDCWD, "timed", 0, 0) == 0 && stat("timed", &st) == 0 &&
	      st.st_atim.tv_sec == st.st_mtim.tv_sec);
	return close(fd) == 0 && unlink("timed") == 0;
}

TEST(size_of_the_file_system, "the size of the file system")
{
	enum { SIZE = 300000 };
	struct statfs before, after;
	int fd = open("sized", O_RDWR | O_CREAT | O_EXCL, 0600);

	CHECK(fd >= 0 && fstatfs(fd, &before) == 0 && before.f_type == 0x01021994 && before.f_namelen == 255 &&
	      before.f_bsize == 4096);
	CHECK(before.f_blocks >= before.f_bfree && before.f_bfree == before.f_bavail && before.f_bfree > SIZE / 4096);
	for (off_t at = 0; at < SIZE; at += 1000)
		CHECK(pwrite(fd, "x", 1, at) == 1);
	CHECK(statfs("sized", &after) == 0 && after.f_blocks == before.f_blocks &&
	      after.f_bfree + SIZE / 4096 <= before.f_bfree);
	CHECK(close(fd) == 0 && unlink("sized") == 0 && statfs("/", &after) == 0 && after.f_bfree == before.f_bfree);
	CHECK(statfs("/nothing", &after) == -1 && errno == ENOENT && fstatfs(-1, &after) == -1 && errno == EBADF);
	return true;
}
