/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with several names, and what the C library makes of files in /dev/shm: named semaphores and shared memory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "posixtest.h"

static bool put(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0;
}

static bool holds(const char *path, const char *text)
{
	char there[64] = "";
	const int fd = open(path, O_RDONLY);

	return fd >= 0 && read(fd, there, sizeof(there) - 1) == (ssize_t)strlen(text) && !strcmp(there, text) &&
	       close(fd) == 0;
}

static unsigned links(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (unsigned)st.st_nlink : 0;
}

static unsigned entries(const char *path)
{
	DIR *directory = opendir(path);
	unsigned count = 0;

	for (struct dirent *entry; directory && (entry = readdir(directory));)
		count += entry->d_name[0] != '.' && entry->d_type == DT_REG;
	if (directory)
		closedir(directory);
	return count;
}

TEST(two_names, "a file lives under its second name when the first one is gone")
{
	struct stat a, b;

	CHECK(mkdir("/tmp/names", 0700) == 0 && put("/tmp/names/a", "one") &&
	      link("/tmp/names/a", "/tmp/names/b") == 0);
	CHECK(links("/tmp/names/a") == 2 && stat("/tmp/names/a", &a) == 0 && stat("/tmp/names/b", &b) == 0);
	CHECK(a.st_ino == b.st_ino && entries("/tmp/names") == 2 && put("/tmp/names/b", "two") &&
	      holds("/tmp/names/a", "two"));
	CHECK(link("/tmp/names/b", "/tmp/names/c") == 0 && links("/tmp/names/c") == 3);
	CHECK(unlink("/tmp/names/a") == 0 && access("/tmp/names/a", F_OK) == -1 && holds("/tmp/names/b", "two"));
	CHECK(links("/tmp/names/b") == 2 && rename("/tmp/names/b", "/tmp/names/d") == 0 &&
	      holds("/tmp/names/d", "two"));
	CHECK(rename("/tmp/names/d", "/tmp/names/c") == 0 && links("/tmp/names/d") == 2); /* both are the same file */
	CHECK(put("/tmp/names/e", "new") && rename("/tmp/names/e", "/tmp/names/c") == 0 &&
	      holds("/tmp/names/c", "new"));
	CHECK(links("/tmp/names/d") == 1 && holds("/tmp/names/d", "two") && unlink("/tmp/names/c") == 0);
	return unlink("/tmp/names/d") == 0 && entries("/tmp/names") == 0 && rmdir("/tmp/names") == 0;
}

TEST(first_name_moves, "a file with two names is renamed and its first name used again")
{
	CHECK(put("/tmp/first", "x") && link("/tmp/first", "/tmp/second") == 0 && unlink("/tmp/first") == 0);
	CHECK(put("/tmp/first", "other") && holds("/tmp/second", "x") && links("/tmp/second") == 1);
	const int fd = open("/tmp/second", O_RDONLY);
	CHECK(fd >= 0 && unlink("/tmp/second") == 0);
	char c;
	CHECK(read(fd, &c, 1) == 1 && c == 'x' && close(fd) == 0);
	return unlink("/tmp/first") == 0;
}

TEST(no_second_name, "what gets no second name")
{
	CHECK(put("/tmp/f", "") && link("/tmp/f", "/tmp/f") == -1 && errno == EEXIST);
	CHECK(link("/tmp/none", "/tmp/g") == -1 && errno == ENOENT && link("/tmp", "/tmp/g") == -1 && errno == EPERM);
	CHECK(link("/tmp/f", "/tmp/none/g") == -1 && errno == ENOENT &&
	      link("/tmp/f", "/tmp/f/g") == -1 && errno == ENOTDIR);
	return unlink("/tmp/f") == 0;
}

static sem_t *shared;

static void *post(void *unused)
{
	sem_post(shared);
	return unused;
}

TEST(named_semaphores, "named semaphores")
{
	pthread_t thread;
	int left = -1;

	CHECK(sem_open("/lock", 0) == SEM_FAILED && errno == ENOENT);
	CHECK((shared = sem_open("/lock", O_CREAT | O_EXCL, 0600, 1)) != SEM_FAILED);
	CHECK(sem_open("/lock", O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED && errno == EEXIST);
	CHECK(sem_open("/lock", 0) == shared && sem_close(shared) == 0 &&
	      sem_getvalue(shared, &left) == 0 && left == 1);
	CHECK(sem_wait(shared) == 0 && sem_trywait(shared) == -1 && errno == EAGAIN);
	CHECK(pthread_create(&thread, 0, post, 0) == 0 && sem_wait(shared) == 0 && pthread_join(thread, 0) == 0);
	CHECK(sem_unlink("/lock") == 0 && sem_unlink("/lock") == -1 && errno == ENOENT);
	CHECK(sem_post(shared) == 0 && sem_wait(shared) == 0); /* it has no name, but is open */
	return sem_close(shared) == 0;
}

TEST(shared_memory, "shared memory by name")
{
	const int fd = shm_open("/memory", O_RDWR | O_CREAT | O_EXCL, 0600);

	CHECK(fd >= 0 && shm_open("/memory", O_RDWR | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	CHECK(ftruncate(fd, 100000) == 0);
	char *a = mmap(0, 100000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const int again = shm_open("/memory", O_RDONLY, 0);
	CHECK(a != MAP_FAILED && again >= 0 && close(fd) == 0);
	char *b = mmap(0, 100000, PROT_READ, MAP_SHARED, again, 0);
	CHECK(b != MAP_FAILED && a[99999] == 0);
	a[99999] = 7;
	CHECK(b[99999] == 7 && shm_unlink("/memory") == 0 && close(again) == 0);
	CHECK(shm_open("/memory", O_RDWR, 0) == -1 && errno == ENOENT && b[99999] == 7);
	return munmap(a, 100000) == 0 && (a == b || munmap(b, 100000) == 0);
}
