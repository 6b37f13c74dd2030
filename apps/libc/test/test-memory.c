/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "posixtest.h"

static unsigned long free_pages(void)
{
	struct sysinfo s;

	sysinfo(&s);
	return s.freeram;
}

static bool all_zero(const char *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (p[i])
			return false;
	return true;
}

TEST(mmap_gives_zeroed_memory_again, "mmap gives zeroed memory again")
{
	enum { SIZE = 300 * 4096 };
	unsigned long before = free_pages();

	for (int round = 0; round < 3; round++) {
		char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(p != MAP_FAILED);
		CHECK(all_zero(p, SIZE));
		memset(p, 0xa5, SIZE);
		CHECK(munmap(p, SIZE) == 0);
	}
	CHECK(free_pages() == before);
	return true;
}

enum { MAPPINGS = 60, MOST_PAGES = 40 };

struct mapping {
	char *at;
	size_t pages;
};

static bool overlap(const struct mapping *m, const char *at, size_t pages)
{
	return m->pages && m->at < at + pages * 4096 && at < m->at + m->pages * 4096;
}

/* No free room of the same size lies between `lowest` and this mapping, which was made last. */
static bool was_first_fit(const struct mapping *all, const struct mapping *is, const char *lowest)
{
	for (const char *at = lowest; at < is->at; at += 4096) {
		unsigned i = 0;

		while (i < MAPPINGS && (&all[i] == is || !overlap(&all[i], at, is->pages)))
			i++;
		if (i == MAPPINGS && at + is->pages * 4096 <= is->at)
			return false;
	}
	return true;
}

/* Whatever came and went before, the lowest room that is large enough is taken. Others' pages lie around it. */
TEST(mappings_take_the_lowest_room, "mappings take the lowest room")
{
	static struct mapping m[MAPPINGS];
	unsigned random = 1;
	char *room = mmap(0, (size_t)MAPPINGS * MOST_PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                  -1, 0);

	CHECK(room != MAP_FAILED && munmap(room, (size_t)MAPPINGS * MOST_PAGES * 4096) == 0);
	for (unsigned step = 0; step < 3000; step++) {
		struct mapping *one = &m[((random = random * 1103515245 + 12345) >> 16) % MAPPINGS];

		if (one->pages) {
			CHECK(munmap(one->at, one->pages * 4096) == 0);
			*one = (struct mapping){ 0 };
			continue;
		}
		one->pages = 1 + ((random = random * 1103515245 + 12345) >> 16) % MOST_PAGES;
		one->at = mmap(0, one->pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(one->at != MAP_FAILED);
		for (unsigned i = 0; i < MAPPINGS; i++)
			CHECK(&m[i] == one || !overlap(&m[i], one->at, one->pages));
		CHECK(was_first_fit(m, one, room));
	}
	for (unsigned i = 0; i < MAPPINGS; i++)
		CHECK(!m[i].pages || munmap(m[i].at, m[i].pages * 4096) == 0);
	return true;
}

TEST(mremap_keeps_content, "mremap keeps content")
{
	char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *wall = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED && wall != MAP_FAILED);
	strcpy(p, "begin");
	strcpy(p + 8000, "end");
	p = mremap(p, 8192, 1 << 20, MREMAP_MAYMOVE);
	CHECK(p != MAP_FAILED && !strcmp(p, "begin") && !strcmp(p + 8000, "end"));
	CHECK(all_zero(p + 8192, (1 << 20) - 8192));
	p = mremap(p, 1 << 20, 4096, MREMAP_MAYMOVE);
	CHECK(p != MAP_FAILED && !strcmp(p, "begin"));
	CHECK(munmap(p, 4096) == 0 && munmap(wall, 4096) == 0);
	return true;
}

/* Tests ranges of which no page is mapped, or only some: the answers are Linux's. */
TEST(ranges_that_are_not_there, "ranges that are not there")
{
	enum { PAGES = 8, SIZE = PAGES * 4096 };
	const unsigned long before = free_pages();
	char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED && memset(p, 'x', SIZE) && munmap(p + 4096, 4096) == 0);
	CHECK(mremap(p + 4096, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	CHECK(mremap(p + 4096, 4096, 4096, 0) == MAP_FAILED && errno == EFAULT &&
	      mremap(p + 4096, 4096, 4096, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK(mremap(p, 8192, SIZE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT && p[8192] == 'x');
	CHECK(madvise(p, SIZE, MADV_DONTNEED) == -1 && errno == ENOMEM && all_zero(p, 4096) &&
	      all_zero(p + 8192, SIZE - 8192));
	CHECK(madvise(p + 4096, 4096, MADV_DONTNEED) == -1 && errno == ENOMEM &&
	      madvise(p + 4096, 4096, MADV_NORMAL) == -1 && errno == ENOMEM);
	CHECK(madvise(p + 1, 1, MADV_NORMAL) == -1 && errno == EINVAL && madvise(p + 4096, 0, MADV_DONTNEED) == 0);
	CHECK(mlock(p, SIZE) == -1 && errno == ENOMEM && munlock(p + 4097, 1) == -1 && errno == ENOMEM &&
	      mlock(p + 8193, 1) == 0);
	CHECK(mlock(p, 4097) == -1 && errno == ENOMEM && mlock(p + 8191, 1) == -1 && mlock(p, ~0ul - 8191) == -1 &&
	      errno == EINVAL);
	CHECK(munlock(p, 4096) == 0 && mlock(p + 4096, 0) == 0);
	CHECK(mprotect(p, SIZE, PROT_READ | PROT_WRITE) == -1 && errno == ENOMEM && msync(p, SIZE, MS_SYNC) == -1 &&
	      errno == ENOMEM);
	CHECK(mremap(p, 4096, 4096, 0) == p && munmap(p, SIZE) == 0 && munmap(p, SIZE) == 0 && free_pages() == before);
	CHECK(mremap(p, SIZE, 2 * SIZE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT && free_pages() == before);
	CHECK(munmap((void *)4096, 4096) == 0 && munmap(p, 0) == -1 && errno == EINVAL && munmap(p + 1, 4096) == -1 &&
	      errno == EINVAL);
	CHECK(munmap((void *)(1ul << 47), 4096) == -1 && errno == EINVAL && munmap(p, ~0ul) == -1 && errno == EINVAL);
	char *again = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *other = mmap(0, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(again != MAP_FAILED && other != MAP_FAILED && (other >= again + SIZE || again >= other + SIZE));
	CHECK(munmap(again, SIZE) == 0 && munmap(other, SIZE) == 0 && free_pages() == before);
	return true;
}

TEST(middle_of_a_mapping_can_be_freed, "the middle of a mapping can be freed")
{
	unsigned long before = free_pages();
	char *p = mmap(0, 200 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	CHECK(munmap(p + 70 * 4096, 65 * 4096) == 0);
	CHECK(free_pages() == before - 135);
	p[69 * 4096 + 4095] = p[135 * 4096] = 1;
	CHECK(munmap(p, 200 * 4096) == 0);
	CHECK(free_pages() == before);
	return true;
}

TEST(dont_need_zeroes, "madvise DONTNEED zeroes")
{
	char *p = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, 16384);
	CHECK(madvise(p, 8192, MADV_DONTNEED) == 0);
	CHECK(all_zero(p, 8192) && p[8192] == 1);
	munmap(p, 16384);
	return true;
}

TEST(too_much_is_refused, "too much memory is refused")
{
	CHECK(mmap(0, 1ul << 46, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	CHECK(malloc(1ul << 46) == 0);
	return true;
}

/* Blocks of random sizes, each filled with its own pattern and checked when freed or grown. */
TEST(malloc_stress, "malloc stress")
{
	enum { BLOCKS = 512, STEPS = 40000 };
	static struct { unsigned char *p; size_t size; unsigned char mark; } block[BLOCKS];
	uint32_t random = 12345;

	for (int step = 0; step < STEPS; step++) {
		random = random * 1664525 + 1013904223;
		unsigned i = random >> 8 & (BLOCKS - 1);
		size_t size = 1 +
		              ((random >> 17) * (size_t)((step & 63) == 0 ? 16 : 1)) % 200000 % (1u << (3 + step % 15));
		size_t keep = block[i].size < size ? block[i].size : size;
		for (size_t at = 0; at < block[i].size; at += 97)
			CHECK(block[i].p[at] == block[i].mark);
		if (random & 0x80 || !block[i].p) {
			free(block[i].p);
			CHECK((block[i].p = malloc(size)));
		} else {
			CHECK((block[i].p = realloc(block[i].p, size)));
			for (size_t at = 0; at < keep; at += 97)
				CHECK(block[i].p[at] == block[i].mark);
		}
		block[i].size = size;
		block[i].mark = (unsigned char)step;
		memset(block[i].p, block[i].mark, size);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i].p);
	return true;
}

TEST(big_blocks_come_back, "big blocks come back")
{
	free(malloc(1)); /* whatever the allocator sets up the first time */
	unsigned long before = free_pages();

	for (int i = 0; i < 50; i++) {
		char *p = malloc(8 << 20);
		CHECK(p);
		memset(p, i, 8 << 20);
		free(p);
	}
	CHECK(free_pages() == before);
	return true;
}

/* The whole of a file of /proc/self. */
static const char *proc_text(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = 0;
	return text;
}

/* Field `number` (1 ..) of /proc/self/stat, found from the end of the name as Redis and ps do; ~0: there is none. */
static unsigned long stat_field(int number)
{
	const char *at = strrchr(proc_text("/proc/self/stat"), ')');

	for (; at && number > 2; number--)
		at = strchr(at + 1, ' ');
	return at ? strtoul(at, 0, 10) : ~0ul;
}

static unsigned long resident_pages(void)
{
	enum { RESIDENT = 24, LOOKS = 3000 }; /* a look goes over some empty pages only: all of a heap in so many */
	unsigned long pages = 0;

	for (int i = 0; i < LOOKS; i++)
		pages = stat_field(RESIDENT);
	return pages;
}

TEST(proc_stat_counts_resident_pages, "/proc/self/stat counts resident pages")
{
	enum { SIZE = 23, LAST = 52, STACK = 256, REST_MAX = 300 /* a port, and what segments round up */ };
	extern const char __executable_start[], _end[];
	const unsigned long image = (unsigned long)(_end - __executable_start) / 4096;
	unsigned long before = resident_pages(), size = stat_field(SIZE), resident, total;
	struct sysinfo s;

	sysinfo(&s);
	unsigned long outside = before - (s.totalram - s.freeram);
	CHECK(outside >= image && outside <= image + STACK + REST_MAX);
	CHECK(size >= (image + STACK + s.totalram) * 4096 && size <= (image + STACK + REST_MAX + s.totalram) * 4096);
	CHECK(sscanf(proc_text("/proc/self/statm"), "%lu %lu", &total, &resident) == 2);
	CHECK(total * 4096 == size && resident == before);
	CHECK(stat_field(20) >= 1 && stat_field(LAST) == 0 && stat_field(LAST + 1) == ~0ul);
	return true;
}

TEST(touched_pages_count, "touched pages count as resident")
{
	enum { PAGES = 3000, SIZE = PAGES * 4096 };
	unsigned long before = resident_pages();
	char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED && resident_pages() == before);
	p[0] = p[4095 + 4096 * 10] = p[SIZE - 1] = 1; /* the first byte of a page, and the last ones */
	CHECK(resident_pages() == before + 3);
	p[0] = 0;
	CHECK(resident_pages() == before + 3); /* it was touched */
	memset(p, 'x', SIZE / 2);
	CHECK(resident_pages() == before + PAGES / 2 + 1);
	CHECK(madvise(p, SIZE / 4, MADV_DONTNEED) == 0 && resident_pages() == before + PAGES / 4 + 1);
	memset(p, 'y', SIZE);
	CHECK(resident_pages() == before + PAGES);
	CHECK(munmap(p, SIZE) == 0 && resident_pages() == before);
	p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* used pages, zeroed again */
	CHECK(p != MAP_FAILED && all_zero(p, SIZE) && resident_pages() == before);
	CHECK(munmap(p, SIZE / 2) == 0 && munmap(p + SIZE / 2, SIZE / 2) == 0 && resident_pages() == before);
	char *block = malloc(SIZE); /* a program's own blocks count from the start */
	CHECK(block && resident_pages() >= before + PAGES);
	free(block);
	CHECK(resident_pages() <= before + 1); /* one page of what malloc() keeps about blocks */
	return true;
}

TEST(proc_files_are_made_when_read, "files of /proc are made when read")
{
	char c[2], first[64] = "", again[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	CHECK(fd >= 0 && read(fd, first, sizeof(first) - 1) > 0 && read(fd, c, 1) == 0);
	char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	*p = 1;
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, again, sizeof(again) - 1) > 0 && strcmp(first, again));
	CHECK(pread(fd, c, 2, 1) == 2 && !memcmp(c, again + 1, 2));
	CHECK(close(fd) == 0 && munmap(p, 4096) == 0);
	CHECK(open("/proc/self/stat", O_RDWR) == -1 && open("/proc/self/nothing", O_RDONLY) == -1);
	return true;
}

/* As programs use them: a file without a name, that others of its descriptors read. */
static bool map_shared(void)
{
	enum { SIZE = 200000 };
	int fd = open("mapped", O_RDWR | O_CREAT | O_EXCL, 0600), reader = open("mapped", O_RDONLY);
	char letter;

	CHECK(fd >= 0 && reader >= 0 && unlink("mapped") == 0 && ftruncate(fd, SIZE) == 0);
	CHECK(mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, reader, 0) == MAP_FAILED && errno == EACCES);
	char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
	     *q = mmap(0, 4096, PROT_READ, MAP_SHARED, reader, 4096 * 17);
	CHECK(p != MAP_FAILED && q != MAP_FAILED && all_zero(p, SIZE));
	p[4096 * 17] = 'm';
	CHECK(q[0] == 'm' && pread(reader, &letter, 1, 4096 * 17) == 1 && letter == 'm' &&
	      pwrite(fd, "w", 1, 150000) == 1 && p[150000] == 'w');
	CHECK(close(fd) == 0 && close(reader) == 0 && msync(p, SIZE, MS_SYNC) == 0 &&
	      madvise(p, SIZE, MADV_DONTNEED) == 0 && p[150000] == 'w');
	CHECK(mprotect(p, 4096, PROT_READ) == -1 && errno == EACCES &&
	      mremap(p, SIZE, 2 * SIZE, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM);
	CHECK(mmap(p, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED &&
	      errno == ENOMEM);
	CHECK(mremap(p, SIZE, 4096 * 20, 0) == p && p[4096 * 17] == 'm' && munmap(q, 4096) == 0 &&
	      munmap(p, 4096 * 20) == 0);
	CHECK(mmap(0, 4096, PROT_READ, MAP_SHARED, 0, 0) == MAP_FAILED && errno == ENODEV);
	return true;
}

TEST(shared_mappings_are_the_file, "shared mappings are the file")
{
	CHECK(map_shared()); /* and what the layer keeps for the next time */
	const unsigned long before = free_pages();
	CHECK(map_shared() && free_pages() == before);
	return true;
}
