/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initial state of a program in the deployment of tests/boot/test_posix.py: environment, working directory, user,
 * threads, storage and files. `posixtest start` runs these alone.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "posixtest.h"

extern char **environ;

START_TEST(environment, "environment")
{
	CHECK(getenv("FIRST") && !strcmp(getenv("FIRST"), "one") && getenv("EMPTY") && !*getenv("EMPTY"));
	CHECK(!strcmp(getenv("SIGN"), "a=b c") && environ[3] == 0);
	return true;
}

START_TEST(place_and_user, "working directory and user")
{
	char where[64];

	CHECK(getcwd(where, sizeof(where)) && !strcmp(where, "/data/work"));
	CHECK(getuid() == 1000 && geteuid() == 1000 && getgid() == 100 && getegid() == 100);
	CHECK(setuid(0) == -1 && errno == EPERM);
	return true;
}

START_TEST(contents, "files of the deployment")
{
	char text[64] = "";
	struct stat st;
	int fd = open("../small", O_RDONLY); /* from the working directory on */

	CHECK(fd >= 0 && read(fd, text, sizeof(text)) == 6 && !strcmp(text, "small\n") && read(fd, text, 1) == 0);
	CHECK(fstat(fd, &st) == 0 && st.st_size == 6 && S_ISREG(st.st_mode) && close(fd) == 0);
	fd = open("/data/large", O_RDONLY);
	CHECK(fd >= 0 && fstat(fd, &st) == 0 && st.st_size == 3000001);
	CHECK(pread(fd, text, 2, 3000000) == 1 && text[0] == 'L' && pread(fd, text, 1, 1l << 33) == 0);
	CHECK(lseek(fd, 5l << 32, SEEK_SET) == 5l << 32 && read(fd, text, 1) == 0 && close(fd) == 0);
	CHECK(stat("/data/empty", &st) == 0 && st.st_size == 0);
	CHECK(open("/data/small/", O_RDONLY) == -1 && errno == ENOTDIR);
	CHECK(open("/data/../../..//data/./small", O_RDONLY) >= 0);
	return true;
}

START_TEST(read_only, "files of the deployment are read-only")
{
	CHECK(open("/data/small", O_RDWR) == -1 && errno == EROFS);
	CHECK(truncate("/data/small", 0) == -1 && errno == EROFS);
	CHECK(unlink("/data/small") == -1 && errno == EROFS);
	CHECK(rename("/data/small", "/data/other") == -1 && errno == EROFS);
	CHECK(access("/data/small", W_OK) == -1 && errno == EROFS && access("/data/small", R_OK) == 0);
	CHECK(access("/data/small", X_OK) == -1 && errno == EACCES);
	return true;
}

START_TEST(private_copies, "files of the deployment to be changed")
{
	char text[8] = "";
	int fd = open("/data/own", O_RDWR);

	CHECK(fd >= 0 && pwrite(fd, "X", 1, 100000) == 1 && pread(fd, text, 3, 99999) == 3 && !memcmp(text, "oXo", 3));
	CHECK(pread(fd, text, 1, 0) == 1 && text[0] == 'o' && ftruncate(fd, 10) == 0 && ftruncate(fd, 20) == 0);
	CHECK(pread(fd, text, 4, 8) == 4 && !memcmp(text, "oo\0\0", 4) && close(fd) == 0);
	CHECK(unlink("/data/own") == 0 && access("/data/own", F_OK) == -1 && errno == ENOENT);
	return true;
}

START_TEST(listing, "directories of the deployment")
{
	unsigned count = 0;
	DIR *d = opendir("/data/many");

	CHECK(d);
	for (struct dirent *e; (e = readdir(d));)
		count += e->d_name[0] == 'f';
	closedir(d);
	CHECK(count == 300 && access("/data/many/f299", F_OK) == 0);
	return true;
}

START_TEST(mapping, "mapped files")
{
	int large = open("/data/large", O_RDONLY), small = open("/data/small", O_RDONLY);
	char *there = mmap(0, 3000001, PROT_READ, MAP_SHARED, large, 0);

	CHECK(there != MAP_FAILED && (uintptr_t)there > 1ul << 40); /* no copy: it is in none of the heap's pages */
	CHECK(there[0] == 'l' && there[3000000] == 'L' && there[3000001] == 0 && munmap(there, 3000001) == 0);
	CHECK(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, large, 0) == MAP_FAILED && errno == EACCES);
	there = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, small, 0);
	CHECK(there != MAP_FAILED && !strcmp(there, "small\n"));
	there[0] = 'S';
	CHECK(munmap(there, 4096) == 0);
	return close(large) == 0 && close(small) == 0;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *unused)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return unused;
}

START_TEST(limits, "threads and storage")
{
	static char block[1 << 20];
	pthread_t thread[3];
	int fd = open("full", O_WRONLY | O_CREAT, 0600);

	pthread_mutex_lock(&gate);
	for (unsigned i = 0; i < 3; i++)
		CHECK(pthread_create(&thread[i], 0, wait_at_gate, 0) == (i < 2 ? 0 : EAGAIN)); /* `threads = 3` */
	pthread_mutex_unlock(&gate);
	CHECK(pthread_join(thread[0], 0) == 0 && pthread_join(thread[1], 0) == 0);
	for (unsigned i = 0; i < 4; i++) /* `storage = "4M"`; the heap has 64 */
		CHECK(write(fd, block, sizeof(block)) == sizeof(block));
	CHECK(write(fd, block, 1) == -1 && errno == ENOSPC && close(fd) == 0 && unlink("full") == 0);
	return true;
}
