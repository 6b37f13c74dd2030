/* SPDX-License-Identifier: BSD-2-Clause */
/* malloc() and its kin: blocks that do not overlap, keep their content, are aligned, and come back to the heap. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <skerry/malloc.h>
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
		CHECK(b->bytes && (uintptr_t)b->bytes % (size > 8 ? malloc_alignment : 8) == 0 &&
		      malloc_usable_size(b->bytes) >= size);
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

/* Memory does not grow without leaks: one span of each class may be kept. */
TEST(test_churn, "blocks keep what is written")
{
	uint64_t before;

	CHECK(churn(1));
	before = free_memory();
	CHECK(churn(2));
	CHECK(free_memory() + (512 << 10) >= before);
	return true;
}

static void *churn_thread(void *seed) { return (void *)(uintptr_t)churn((uint32_t)(uintptr_t)seed); }

TEST(test_threads, "blocks of two threads")
{
	pthread_t thread;
	void *ok;

	CHECK(pthread_create(&thread, NULL, churn_thread, (void *)7) == 0);
	CHECK(churn(8));
	CHECK(pthread_join(thread, &ok) == 0 && ok);
	return true;
}

enum { GIVEN = 120, TAKEN_MOST = 8000 };

struct gift {
	unsigned char *block[GIVEN];    /* of the first thread */
	unsigned char *before[GIVEN];   /* these, and those that it has freed itself */
	unsigned char *kept[GIVEN];     /* beside them, so that no span is empty and leaves its class */
	unsigned char *own[TAKEN_MOST]; /* of the other one */
	unsigned taken;
	size_t size;
};

static bool is_among(const unsigned char *one, unsigned char *const *blocks)
{
	for (unsigned i = 0; i < GIVEN; i++)
		if (blocks[i] == one)
			return true;
	return false;
}

/*
 * The other thread frees the first one's blocks and takes its own until a third of those came back: spans with more
 * room may come first. Returns the gift; null: they did not come back.
 */
static void *take_over(void *argument)
{
	struct gift *gift = argument;

	for (unsigned i = 0; i < GIVEN; i++)
		free(gift->block[i]);
	unsigned again = 0;
	for (gift->taken = 0; gift->taken < TAKEN_MOST && again < GIVEN / 3; gift->taken++) {
		unsigned char *own = gift->own[gift->taken] = malloc(gift->size);

		if (!own)
			return NULL;
		memset(own, 2, malloc_usable_size(own));
		again += is_among(own, gift->before);
	}
	return again < GIVEN / 3 ? NULL : gift;
}

/*
 * Blocks that the first thread frees are for others, too, but for the few blocks that it keeps; no other thread gets
 * these. Blocks that others free are for it.
 */
TEST(test_given_blocks, "blocks that threads give to each other")
{
	static struct gift gift;
	static unsigned char *after[GIVEN];
	pthread_t thread;
	void *found;

	for (size_t size = 1; size < 700; size += size < 200 ? 16 : 64) {
		gift.size = size;
		for (unsigned i = 0; i < GIVEN; i++)
			CHECK((gift.before[i] = malloc(size)) && (gift.kept[i] = malloc(size)));
		for (unsigned i = 0; i < GIVEN; i++) {
			gift.block[i] = i % 2 ? gift.before[i] : NULL;
			if (!(i % 2))
				free(gift.before[i]);
		}
		CHECK(pthread_create(&thread, NULL, take_over, &gift) == 0 && pthread_join(thread, &found) == 0);
		CHECK(found == &gift);
		for (unsigned i = 0; i < GIVEN; i++) {
			CHECK((after[i] = malloc(size)));
			memset(after[i], 1, malloc_usable_size(after[i]));
		}
		for (unsigned i = 0; i < gift.taken; i++) {
			CHECK(!is_among(gift.own[i], after));
			for (size_t k = 0; k < size; k++)
				CHECK(gift.own[i][k] == 2);
			free(gift.own[i]);
		}
		for (unsigned i = 0; i < GIVEN; i++) {
			free(after[i]);
			free(gift.kept[i]);
		}
	}
	return true;
}

TEST(test_alignment, "aligned blocks")
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

TEST(test_zeroed, "zeroed blocks")
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

TEST(test_too_much, "more than there is")
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

/* As memset(), and the compiler cannot know that nobody reads it before free(). */
static void mark(unsigned char *bytes, size_t size, unsigned char value)
{
	memset(bytes, value, size);
	__asm__ volatile("" ::: "memory");
}

static bool holds(const unsigned char *bytes, size_t size, unsigned char value)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

/* A large block that was used before keeps its content, since zeroing costs time; calloc() zeroes it. */
TEST(test_reuse, "used blocks are zeroed only for calloc and mmap")
{
	enum { SIZE = 8 << 20, LAST = 4096, MOST = SIZE - LAST }; /* larger than the holes that others leave */
	unsigned char *first = malloc(SIZE), *again;

	CHECK(first);
	mark(first, SIZE, 0xa5);
	free(first);
	CHECK((again = malloc(SIZE)) == first);
	CHECK(holds(again, SIZE, 0xa5));
	free(again);
	CHECK((again = aligned_alloc(4096, SIZE)) == first);
	CHECK(holds(again, SIZE, 0xa5));
	free(again);
	CHECK((again = calloc(MOST, 1)) == first);
	CHECK(holds(again, MOST, 0));
	free(again);
	CHECK((again = malloc(SIZE)) == first); /* calloc has zeroed its part and nothing else */
	CHECK(holds(again, MOST, 0) && holds(again + MOST, LAST, 0xa5));
	mark(again, SIZE, 0x5a);
	free(again);
	CHECK((again = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) == first);
	CHECK(holds(again, SIZE, 0));
	memset(again, 0x77, SIZE);
	CHECK(mmap(again, MOST, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == again);
	CHECK(holds(again, MOST, 0) && holds(again + MOST, LAST, 0x77));
	CHECK(munmap(again + MOST, LAST) == 0);
	CHECK(mremap(again, MOST, SIZE, 0) == again && holds(again, SIZE, 0));
	munmap(again, SIZE);
	return true;
}

/* A block that is freed and taken again keeps its pages, and its content unless calloc() takes it. */
TEST(test_spares, "freed spans that are kept")
{
	for (size_t pages = 2; pages <= 16; pages++) {
		const size_t size = pages * 4096;
		unsigned char *first = malloc(size), *behind = malloc(size), *again;

		CHECK(first && behind);
		mark(first, size, 0xa5);
		free(first);
		CHECK((again = malloc(size - 4095)) == first && holds(again, size - 4095, 0xa5));
		CHECK(malloc_usable_size(again) == size);
		free(again);
		CHECK((again = calloc(size, 1)) == first && holds(again, size, 0));
		mark(again, size, 1);
		free(again);
		CHECK((again = malloc(size + 1)) != first);
		free(again);
		free(behind);
	}
	return true;
}

/* The program decides how close to each other short blocks are. */
TEST(test_malloc_alignment, "lengths of short blocks")
{
	const size_t step = malloc_alignment;

	CHECK(step == 8 || step == 16);
	for (size_t size = 1; size <= 128; size++) {
		void *block = malloc(size);
		const size_t multiple = (size + step - 1) & -step;
		CHECK(block && malloc_usable_size(block) == (size <= 8 ? 8 : multiple));
		free(block);
	}
	return true;
}

/* Blocks of this size until there is none; chained by their first word. */
static void **take_all(size_t size, void **chain)
{
	for (void **block; (block = malloc(size)); chain = block)
		*block = chain;
	return chain;
}

/* A full heap: what is freed serves for larger and smaller blocks alike. The rest is for others meanwhile. */
TEST(test_full, "a heap without room")
{
	enum { SOME = 12, SIZE = 65536 };
	void *some[SOME], **all = NULL, *first = NULL;

	for (unsigned i = 0; i < SOME; i++)
		CHECK((some[i] = malloc(SIZE)));
	for (size_t size = (size_t)8 << 20; size > 4096; size /= 2)
		all = take_all(size, all);
	for (unsigned i = 0; i < 2; i++)
		free(some[i]);
	CHECK((first = malloc(5 * 4096))); /* none of so many pages is kept */
	free(first);
	for (unsigned i = 2; i < SOME; i++)
		free(some[i]);
	for (unsigned i = 0; i < SOME; i++)
		CHECK((some[i] = malloc(i % 2 ? 3 * 4096 : SIZE)));
	for (unsigned i = 0; i < SOME; i++)
		free(some[i]);
	while (all) {
		void **next = *all;
		free(all);
		all = next;
	}
	CHECK((first = malloc((size_t)8 << 20)));
	free(first);
	return true;
}

/* A spare span is not protected, whatever its last owner has done. */
TEST(test_protected_spare, "freed spans that were protected")
{
	const size_t size = 4 * 4096;
	unsigned char *one = aligned_alloc(4096, size);

	CHECK(one);
	mark(one, size, 3);
	CHECK(mprotect(one, size, PROT_READ) == 0);
	free(one);
	unsigned char *again = malloc(size);
	CHECK(again == one);
	mark(again, size, 4);
	CHECK(holds(again, size, 4));
	free(again);
	return true;
}
