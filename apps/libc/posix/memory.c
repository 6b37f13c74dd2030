/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process's heap in pages, without a kernel call: the cluster-manager has
 * mapped all of it, zeroed. Two bitmaps at its start say which pages are in
 * use and which may hold old content and must be zeroed when given out again.
 * First fit, so that the memory stays compact. Protection is not enforced:
 * guard pages of thread stacks guard nothing yet.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <skerry/process.h>
#include "layer.h"
#include "platform.h"

static struct {
	uint64_t *used, *dirty;
	size_t pages;
	size_t lowest;     /* no page below is free */
	size_t used_count;
	size_t break_first, break_page, break_limit; /* brk's pages: first, end, end of its reserve */
	uintptr_t break_address;
} heap;

static const size_t NO_RUN = ~(size_t)0;

static inline bool bit_get(const uint64_t *map, size_t i) { return map[i / 64] >> (i % 64) & 1; }

static void bits_fill(uint64_t *map, size_t first, size_t count, bool value)
{
	for (size_t end = first + count; first < end;) {
		size_t offset = first % 64;
		size_t n = end - first < 64 - offset ? end - first : 64 - offset;
		uint64_t mask = (n == 64 ? ~0ull : (1ull << n) - 1) << offset;

		map[first / 64] = value ? map[first / 64] | mask : map[first / 64] & ~mask;
		first += n;
	}
}

static void *page_address(size_t page) { return (void *)(PROCESS_HEAP_VADDR + page * PAGE); }

/* The first `count` free pages in a row, at or above `from`. */
static size_t find_run(size_t from, size_t count)
{
	size_t start = from, length = 0;

	for (size_t page = from; page < heap.pages;) {
		uint64_t word = heap.used[page / 64] >> (page % 64);
		size_t left = 64 - page % 64;

		if (word & 1) {
			size_t n = ~word ? (size_t)__builtin_ctzll(~word) : 64;
			page += n < left ? n : left;
			length = 0;
		} else {
			size_t n = word ? (size_t)__builtin_ctzll(word) : left;
			if (!length)
				start = page;
			length += n;
			page += n;
		}
		if (length >= count)
			return start;
	}
	return NO_RUN;
}

static void take(size_t first, size_t count)
{
	for (size_t page = first; page < first + count; page++)
		if (bit_get(heap.dirty, page))
			memset(page_address(page), 0, PAGE);
	bits_fill(heap.used, first, count, true);
	bits_fill(heap.dirty, first, count, true);
	heap.used_count += count;
	if (first == heap.lowest)
		heap.lowest = first + count;
}

static void give_back(size_t first, size_t count)
{
	for (size_t page = first; page < first + count; page++)
		heap.used_count -= bit_get(heap.used, page);
	bits_fill(heap.used, first, count, false);
	if (first < heap.lowest)
		heap.lowest = first;
}

void memory_start(void)
{
	size_t size = platform_info()->heap_size;
	size_t map_bytes = (size / PAGE + 63) / 64 * 8;
	size_t reserved = (2 * map_bytes + PAGE - 1) / PAGE;

	heap.pages = size / PAGE;
	heap.used = page_address(0);
	heap.dirty = heap.used + map_bytes / 8;
	if (heap.pages % 64)
		bits_fill(heap.used, heap.pages, 64 - heap.pages % 64, true);
	heap.break_first = heap.break_page = reserved;
	heap.break_limit = reserved + heap.pages / 32;
	heap.break_address = (uintptr_t)page_address(reserved);
	heap.lowest = heap.break_limit;
	bits_fill(heap.used, 0, heap.break_limit, true);
	heap.used_count = reserved;
}

void *heap_map(size_t pages)
{
	size_t first = pages ? find_run(heap.lowest, pages) : NO_RUN;

	if (first == NO_RUN)
		return 0;
	take(first, pages);
	return page_address(first);
}

void heap_unmap(void *address, size_t pages)
{
	give_back(((uintptr_t)address - PROCESS_HEAP_VADDR) / PAGE, pages);
}

void heap_usage(size_t *total, size_t *used)
{
	*total = heap.pages;
	*used = heap.used_count;
}

static bool to_pages(uintptr_t address, size_t size, size_t *first, size_t *count)
{
	uintptr_t low = (uintptr_t)page_address(heap.break_limit), high = (uintptr_t)page_address(heap.pages);

	if (address % PAGE || !size || address < low || address >= high || size > high - address)
		return false;
	*first = (address - PROCESS_HEAP_VADDR) / PAGE;
	*count = (size + PAGE - 1) / PAGE;
	return true;
}

long sys_mmap(const long *a)
{
	size_t size = (size_t)a[1], first, count;
	int flags = (int)a[3];

	if (!size)
		return -EINVAL;
	if (!(flags & MAP_ANONYMOUS))
		return -ENODEV; /* files are not mapped */
	if (flags & MAP_FIXED) {
		if (!to_pages((uintptr_t)a[0], size, &first, &count))
			return -EINVAL;
		give_back(first, count);
		take(first, count);
		return a[0];
	}
	if (size > heap.pages * PAGE)
		return -ENOMEM;
	void *address = heap_map((size + PAGE - 1) / PAGE);
	return address ? (long)address : -ENOMEM;
}

long sys_munmap(const long *a)
{
	size_t first, count;

	if (!to_pages((uintptr_t)a[0], (size_t)a[1], &first, &count))
		return -EINVAL;
	give_back(first, count);
	return 0;
}

static bool run_is_free(size_t first, size_t count)
{
	if (count > heap.pages - first)
		return false;
	for (size_t page = first; page < first + count; page++)
		if (bit_get(heap.used, page))
			return false;
	return true;
}

long sys_mremap(const long *a)
{
	size_t first, old, new = ((size_t)a[2] + PAGE - 1) / PAGE;

	if (!to_pages((uintptr_t)a[0], (size_t)a[1], &first, &old) || !new || (a[3] & ~MREMAP_MAYMOVE))
		return -EINVAL;
	if (new <= old) {
		if (new < old)
			give_back(first + new, old - new);
		return a[0];
	}
	if (new > heap.pages)
		return -ENOMEM;
	if (run_is_free(first + old, new - old)) {
		take(first + old, new - old);
		return a[0];
	}
	if (!(a[3] & MREMAP_MAYMOVE))
		return -ENOMEM;
	void *moved = heap_map(new);
	if (!moved)
		return -ENOMEM;
	memcpy(moved, (void *)a[0], old * PAGE);
	give_back(first, old);
	return (long)moved;
}

long sys_madvise(const long *a)
{
	size_t first, count;

	if (a[2] != MADV_DONTNEED)
		return 0; /* the others are only hints */
	if (!to_pages((uintptr_t)a[0], (size_t)a[1], &first, &count))
		return -EINVAL;
	memset(page_address(first), 0, count * PAGE);
	return 0;
}

/* On failure the break stays where it is, which is what Linux answers too. */
long sys_brk(const long *a)
{
	uintptr_t wanted = (uintptr_t)a[0];
	uintptr_t low = (uintptr_t)page_address(heap.break_first), high = (uintptr_t)page_address(heap.break_limit);

	if (wanted < low || wanted > high)
		return (long)heap.break_address;
	if (wanted < heap.break_address) /* grown again, it must read as zero */
		memset((void *)wanted, 0, heap.break_address - wanted);
	size_t page = (wanted - PROCESS_HEAP_VADDR + PAGE - 1) / PAGE;
	heap.used_count += page - heap.break_page;
	heap.break_page = page;
	return (long)(heap.break_address = wanted);
}

long sys_mprotect(const long *a) { (void)a; return 0; }
long sys_mlock(const long *a) { (void)a; return 0; } /* nothing is ever paged out */
long sys_munlock(const long *a) { (void)a; return 0; }
long sys_mlockall(const long *a) { (void)a; return 0; }
long sys_munlockall(const long *a) { (void)a; return 0; }
