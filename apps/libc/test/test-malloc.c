/* SPDX-License-Identifier: BSD-2-Clause */
/* malloc() and its kin: blocks that do not overlap, keep their content, are aligned, and come back to the heap. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include "posixtest.h"

enum { BLOCKS = 2000, STEPS = 60000 };

struct block {
	unsigned char *bytes;
	size_t size;
	unsigned char mark;
};

static uint32_t next(uint32_t *state) { return *state = *state * 1664525 + 1013904223; }

static bool intact(const struct block *b, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (b->bytes[i] != b->mark)
			return false;
	return true;
}

/* Small sizes often, pages sometimes. */
static size_t some_size(uint32_t *random)
{
	uint32_t r = next(random) >> 8;

	return r % 64 ? r % 600 : r % 30000;
}

static bool churn(uint32_t random)
{
	struct block *blocks = calloc(BLOCKS, sizeof(*blocks));

	CHECK(blocks);
	for (unsigned step = 0; step < STEPS; step++) {
		struct block *b = &blocks[(next(&random) >> 8) % BLOCKS];
		size_t size = some_size(&random), kept = size < b->size ? size : b->size;

		CHECK(intact(b, b->size));
		if (step % 3) {
			free(b->bytes);
			b->bytes = malloc(size);
		} else {
			b->bytes = realloc(b->bytes, size);
			CHECK(!b->bytes || intact(b, kept));
		}
		CHECK(b->bytes && (uintptr_t)b->bytes % 16 == 0 && malloc_usable_size(b->bytes) >= size);
		b->size = size;
		b->mark = (unsigned char)step;
		memset(b->bytes, b->mark, malloc_usable_size(b->bytes));
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		CHECK(intact(&blocks[i], blocks[i].size));
		free(blocks[i].bytes);
	}
	free(blocks);
	return true;
}

static uint64_t free_memory(void)
{
	struct sysinfo info;

	sysinfo(&info);
	return (uint64_t)info.freeram * info.mem_unit;
}

/* What is not given back does not grow: one span of each class may be kept. */
static bool test_churn(void)
{
	uint64_t before;

	CHECK(churn(1));
	before = free_memory();
	CHECK(churn(2));
	CHECK(free_memory() + (512 << 10) >= before);
	return true;
}

static void *churn_thread(void *seed) { return (void *)(uintptr_t)churn((uint32_t)(uintptr_t)seed); }

static bool test_threads(void)
{
	pthread_t thread;
	void *ok;

	CHECK(pthread_create(&thread, NULL, churn_thread, (void *)7) == 0);
	CHECK(churn(8));
	CHECK(pthread_join(thread, &ok) == 0 && ok);
	return true;
}

static bool test_alignment(void)
{
	for (size_t align = 1; align <= 1 << 16; align *= 2)
		for (size_t size = 0; size < 9000; size = size * 2 + 1) {
			unsigned char *a = aligned_alloc(align, size), *b = aligned_alloc(align, size);
			CHECK(a && b && a != b && (uintptr_t)a % align == 0 && (uintptr_t)b % align == 0);
			CHECK(malloc_usable_size(a) >= size && malloc_usable_size(b) >= size);
			memset(a, 1, malloc_usable_size(a));
			memset(b, 2, malloc_usable_size(b));
			CHECK(!size || a[size - 1] == 1);
			free(a);
			free(b);
		}
	CHECK(!aligned_alloc(24, 100) && errno == EINVAL);
	return true;
}

static bool test_zeroed(void)
{
	for (size_t size = 1; size < 20000; size = size * 3 / 2 + 1) {
		unsigned char *a = malloc(size);
		CHECK(a);
		memset(a, 0xff, size);
		free(a);
		a = calloc(size, 1);
		CHECK(a);
		for (size_t i = 0; i < size; i++)
			CHECK(a[i] == 0);
		free(a);
	}
	return true;
}

static bool test_too_much(void)
{
	volatile size_t half = SIZE_MAX / 2 + 2, much = (size_t)1 << 40;

	errno = 0;
	CHECK(!calloc(half, 2) && errno == ENOMEM);
	errno = 0;
	CHECK(!malloc(half) && errno == ENOMEM);
	errno = 0;
	CHECK(!malloc(much) && errno == ENOMEM);
	CHECK(!aligned_alloc((size_t)1 << 20, much));
	free(NULL);
	return true;
}

const struct test malloc_tests[] = {
	{ "blocks keep what is written", test_churn },
	{ "blocks of two threads", test_threads },
	{ "aligned blocks", test_alignment },
	{ "zeroed blocks", test_zeroed },
	{ "more than there is", test_too_much },
	{ 0 },
};
