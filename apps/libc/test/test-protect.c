/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "posixtest.h"

enum { PAGE = 4096, STEP = 2 << 20, RW = PROT_READ | PROT_WRITE, RANGES_MAX = 128 };

static char *map(size_t size, int prot) { return mmap(0, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

/* As it is: mprotect() of the C library rounds the range. */
static long protect(const void *at, size_t size, long prot) { return syscall(SYS_mprotect, at, size, prot); }

static bool refuses(const void *at, size_t size, long prot, int error)
{
	errno = 0;
	return protect(at, size, prot) == -1 && errno == error;
}

TEST(mprotect_refuses_as_linux_does, "mprotect refuses what Linux refuses")
{
	char *p = map(4 * PAGE, RW);
	static char data[PAGE];

	CHECK(p != MAP_FAILED);
	CHECK(refuses(p + 1, PAGE, PROT_READ, EINVAL) && refuses(p, PAGE, 64, EINVAL));
	CHECK(refuses(p, PAGE, RW | PROT_EXEC, EACCES) && refuses(p, PAGE, PROT_WRITE | PROT_EXEC, EACCES));
	CHECK(protect(p, 0, PROT_NONE) == 0 && (*p = 1) == 1);
	CHECK(munmap(p + 2 * PAGE, PAGE) == 0);
	CHECK(refuses(p, 4 * PAGE, PROT_READ, ENOMEM) && refuses(p + 2 * PAGE, PAGE, RW, ENOMEM));
	*p = 2; /* nothing of it was done */
	CHECK(refuses(p, ~(size_t)PAGE, PROT_NONE, ENOMEM) && refuses(p, ~(size_t)0, PROT_NONE, ENOMEM));
	CHECK(refuses(p, -(size_t)p, PROT_NONE, ENOMEM) && refuses(p, (size_t)1 << 46, PROT_NONE, ENOMEM));
	CHECK(refuses(0, PAGE, PROT_NONE, ENOMEM) && refuses((void *)-(long)PAGE, PAGE, PROT_NONE, ENOMEM));
	CHECK(refuses((void *)((uintptr_t)data & -(uintptr_t)PAGE), PAGE, PROT_NONE, EACCES));
	CHECK(refuses((void *)0x100000000, PAGE, PROT_NONE, ENOMEM)); /* what the layer keeps about the heap */
	CHECK(map(PAGE, RW | PROT_EXEC) == MAP_FAILED && errno == EACCES);
	CHECK(munmap(p, 2 * PAGE) == 0 && munmap(p + 3 * PAGE, PAGE) == 0);
	return true;
}

TEST(content_stays, "content stays when pages are protected")
{
	enum { PAGES = 40 };
	static const int rights[] = { PROT_READ, PROT_NONE, RW, PROT_NONE, PROT_READ | PROT_EXEC, PROT_READ, RW };
	char *p = map(PAGES * PAGE, RW);

	CHECK(p != MAP_FAILED);
	for (int i = 0; i < PAGES; i += 2)
		p[i * PAGE + 7] = (char)(i + 1);
	for (unsigned r = 0; r < sizeof(rights) / sizeof(rights[0]); r++) {
		CHECK(protect(p + 3 * PAGE, 30 * PAGE, rights[r]) == 0);
		for (int i = 0; i < PAGES; i++)
			if (rights[r] != PROT_NONE || i < 3 || i >= 33)
				CHECK(p[i * PAGE + 7] == (char)(i % 2 ? 0 : i + 1) && p[i * PAGE] == 0);
		p[2 * PAGE] = p[33 * PAGE] = 0;
	}
	memset(p, 'x', PAGES * PAGE);
	CHECK(munmap(p, PAGES * PAGE) == 0);
	return true;
}

/* Steps of the heap that are used already, some wholly and some in part within the range. */
TEST(large_ranges_keep_content, "content stays when large ranges are protected")
{
	enum { SIZE = 5 * STEP };
	char *p = map(SIZE, RW);

	CHECK(p != MAP_FAILED);
	for (size_t at = 0; at < SIZE; at += 37 * PAGE)
		*(size_t *)(p + at) = at + 1;
	CHECK(protect(p + 9 * PAGE, SIZE - 20 * PAGE, PROT_NONE) == 0);
	p[8 * PAGE] = p[SIZE - 11 * PAGE] = 1;
	CHECK(protect(p, SIZE, PROT_READ) == 0);
	for (size_t at = 0; at < SIZE; at += 37 * PAGE)
		CHECK(*(size_t *)(p + at) == at + 1);
	CHECK(protect(p, SIZE, RW) == 0);
	for (size_t at = 0; at < SIZE; at += 37 * PAGE)
		CHECK(*(size_t *)(p + at) == at + 1);
	memset(p, 'x', SIZE);
	CHECK(munmap(p, SIZE) == 0);
	return true;
}

TEST(reserved_memory_is_used_by_and_by, "reserved memory is used by and by")
{
	enum { SIZE = 3 * STEP };
	char *p = map(SIZE, PROT_NONE);

	CHECK(p != MAP_FAILED);
	CHECK(protect(p + PAGE, 2 * PAGE, RW) == 0 && protect(p + STEP, STEP + PAGE, RW) == 0);
	p[PAGE] = p[3 * PAGE - 1] = p[STEP] = p[2 * STEP] = 1;
	CHECK(p[2 * PAGE] == 0 && p[STEP + PAGE] == 0);
	CHECK(munmap(p, SIZE) == 0);
	p = map(SIZE, RW); /* wherever it is: nothing is protected any more, and nothing is left */
	CHECK(p != MAP_FAILED);
	for (size_t at = 0; at < SIZE; at += PAGE) {
		CHECK(p[at] == 0);
		p[at] = 1;
	}
	CHECK(munmap(p, SIZE) == 0);
	return true;
}

TEST(pages_come_back_unprotected, "pages come back unprotected")
{
	char *p = map(8 * PAGE, RW);

	CHECK(p != MAP_FAILED);
	memset(p, 'x', 8 * PAGE);
	CHECK(protect(p, 8 * PAGE, PROT_READ) == 0 && munmap(p + 2 * PAGE, 2 * PAGE) == 0);
	CHECK(mmap(p, 2 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
	p[0] = p[PAGE] = 1;
	CHECK(p[2 * PAGE - 1] == 0 && p[4 * PAGE] == 'x');
	CHECK(mmap(p + 2 * PAGE, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + 2 * PAGE);
	CHECK(p[2 * PAGE] == 0);
	CHECK(mremap(p, 8 * PAGE, 20 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	CHECK(mremap(p, 8 * PAGE, 6 * PAGE, 0) == p);
	CHECK(madvise(p, 6 * PAGE, MADV_DONTNEED) == 0 && p[0] == 0 && p[4 * PAGE] == 0);
	CHECK(protect(p + 4 * PAGE, 2 * PAGE, PROT_NONE) == 0 && madvise(p, 6 * PAGE, MADV_DONTNEED) == 0);
	CHECK(protect(p, 6 * PAGE, RW) == 0);
	for (size_t at = 0; at < 6 * PAGE; at += PAGE)
		CHECK(p[at]++ == 0);
	CHECK(munmap(p, 6 * PAGE) == 0);
	return true;
}

/* More ranges than there may be are refused, and what is protected stays so; then all can be taken back. */
TEST(ranges_are_limited, "protected ranges are limited")
{
	enum { PAGES = 2 * RANGES_MAX + 40 };
	char *p = map(PAGES * PAGE, RW);
	int made = 0;

	CHECK(p != MAP_FAILED);
	while (2 * made + 1 < PAGES && protect(p + (2 * made + 1) * PAGE, PAGE, PROT_READ) == 0)
		made++;
	CHECK(errno == ENOMEM && made <= RANGES_MAX && made > RANGES_MAX - 20);
	CHECK(refuses(p + (PAGES - 3) * PAGE, PAGE, PROT_NONE, ENOMEM));
	p[(2 * made + 1) * PAGE] = 1;
	CHECK(protect(p + PAGE, PAGE, RW) == 0 && protect(p + (2 * made + 1) * PAGE, PAGE, PROT_READ) == 0);
	CHECK(protect(p, PAGES * PAGE, PROT_READ) == 0 && protect(p, PAGES * PAGE, RW) == 0);
	memset(p, 1, PAGES * PAGE);
	CHECK(munmap(p, PAGES * PAGE) == 0);
	return true;
}

static void *use_stack(void *wrong)
{
	volatile char frame[100 * 1024];
	size_t sum = 0;

	for (size_t i = 0; i < sizeof(frame); i += 1024)
		frame[i] = (char)(i / 1024);
	for (size_t i = 0; i < sizeof(frame); i += 1024)
		sum += (size_t)frame[i];
	return sum == 99 * 100 / 2 ? 0 : wrong;
}

/* The stack can be used down to its guard; stacks that are gone can be used by others. */
TEST(threads_have_their_stacks, "threads have their stacks above a guard")
{
	enum { THREADS = 20, ROUNDS = 5 };
	pthread_t thread[THREADS];
	pthread_attr_t attr;
	void *wrong;
	size_t guard;

	pthread_attr_init(&attr);
	CHECK(pthread_attr_getguardsize(&attr, &guard) == 0 && guard >= PAGE);
	CHECK(pthread_attr_setstacksize(&attr, 128 * 1024) == 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++)
			CHECK(pthread_create(&thread[i], &attr, use_stack, &guard) == 0);
		for (int i = 0; i < THREADS; i++)
			CHECK(pthread_join(thread[i], &wrong) == 0 && !wrong);
	}
	pthread_attr_destroy(&attr);
	return true;
}
