/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process's heap in pages, without a kernel call: the cluster-manager has
 * reserved all of it, and maps it, zeroed, as it is touched. Bitmaps at its start say which pages are in
 * use, which may hold old content and must be zeroed when mapped again, and
 * which nobody may have touched (resident.c).
 * First fit, so that the memory stays compact. Files are mapped by a copy; what
 * never changes of the deployment's files is where it is (PROCESS_FILES_VADDR). Pages that are free are never
 * protected (protect.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <skerry/process.h>
#include "birth.h"
#include "bits.h"
#include "layer.h"
#include "platform.h"

static struct {
	uint64_t *used, *dirty;
	size_t pages;
	size_t lowest;     /* no page below is free */
	/* By the logarithm of `count`: no run of so many free pages begins below `page`, and the page before that is in
	 * use. */
	struct { size_t page, count; } behind[64];
	size_t used_count;
	size_t break_first, break_page, break_limit; /* brk's pages: first, end, end of its reserve */
	uintptr_t break_address;
} heap;

#define USER_END (1ul << 47) /* of addresses that a program can have */

static void *page_address(size_t page) { return (void *)(PROCESS_HEAP_VADDR + page * PAGE); }

/* The first ones of all. A program that takes some pages again and again does not look at all holes below each time. */
static size_t find_first(size_t count)
{
	require(count && heap.lowest <= heap.pages);
	const unsigned class = 63 - (unsigned)__builtin_clzll(count);
	const bool known = count >= heap.behind[class].count && heap.behind[class].page > heap.lowest;
	const size_t first = bits_find_run(heap.used, known ? heap.behind[class].page : heap.lowest, heap.pages, count);

	heap.behind[class].page = first == NO_RUN ? 0 : first;
	heap.behind[class].count = count;
	return first;
}

/* These pages are free from now on: runs that they make long enough begin where all that is free around them begins. */
static void runs_widen(size_t first, size_t count)
{
	enum { FAR = 16 }; /* a run of so many is long enough, whatever was looked for */
	size_t low = first, high = first + count;

	while (low > heap.lowest && first - low < FAR && !bit_get(heap.used, low - 1))
		low--;
	while (high < heap.pages && high - low < FAR && !bit_get(heap.used, high))
		high++;
	for (size_t class = 0; heap.pages >> class; class++) {
		const size_t page = heap.behind[class].page;

		if (first < page && (high >= page || high - low >= FAR || high - low >= heap.behind[class].count))
			heap.behind[class].page = first - low < FAR ? low : 0;
	}
}

/* The last ones. */
static size_t find_run_down(size_t count)
{
	size_t page = heap.pages, length = 0;

	while (page > heap.lowest) {
		if (page % 64 == 0 && page - 64 >= heap.lowest && !heap.used[page / 64 - 1]) {
			page -= 64;
			length += 64;
		} else {
			page--;
			length = bit_get(heap.used, page) ? 0 : length + 1;
		}
		if (length >= count)
			return page + length - count;
	}
	return NO_RUN;
}

static void pages_zero(size_t first, size_t count)
{
	require(first + count <= heap.pages);
	for (size_t page = first; page < first + count; page++)
		if (bit_get(heap.dirty, page) && platform_is_touched((uintptr_t)page_address(page)))
			memset(page_address(page), 0, PAGE);
}

/* The pages keep what they hold; the caller zeroes them first if their user expects zeroes. */
static void pages_take(size_t first, size_t count)
{
	require(first >= heap.break_limit && count && first + count <= heap.pages);
	require(!bit_get(heap.used, first) && !bit_get(heap.used, first + count - 1));
	bits_fill(heap.used, first, count, true);
	bits_fill(heap.dirty, first, count, true);
	heap.used_count += count;
	if (first == heap.lowest)
		heap.lowest = first + count;
}

/* False: some are protected, and there is no room to change that: they stay in use. */
static bool give_back(size_t first, size_t count)
{
	require(first >= heap.break_limit && count && first + count <= heap.pages);
	if (!protection_drop((uintptr_t)page_address(first), count))
		return false;
	for (size_t page = first; page < first + count; page++)
		heap.used_count -= bit_get(heap.used, page);
	require(heap.used_count <= heap.pages);
	resident_gone(first, count);
	bits_fill(heap.used, first, count, false);
	if (first < heap.lowest)
		heap.lowest = first;
	runs_widen(first, count);
	return true;
}

#ifdef LAYER_FAMILY
static void clear(size_t first, size_t count)
{
	for (size_t page = first; page < first + count; page++)
		if (platform_is_touched((uintptr_t)page_address(page)))
			memset(page_address(page), 0, PAGE);
}

/* Takes over the heap of the program before an exec, with that program's record in it. */
static void inherit(const struct birth *b)
{
	const size_t first = ((uintptr_t)b - PROCESS_HEAP_VADDR) / PAGE;

	for (size_t page = heap.break_first;
	     page < heap.break_limit && page_address(page) < (void *)b->break_end; page++)
		clear(page, 1);
	bits_fill(heap.dirty, heap.break_limit, heap.pages - heap.break_limit, true);
	if (first >= heap.break_limit)
		pages_take(first, b->pages);
}

uintptr_t memory_break(void) { return heap.break_address; }
#endif

void memory_start(void)
{
	size_t size = platform_info()->heap_size;
	size_t map_bytes = (size / PAGE + 63) / 64 * 8;
	size_t reserved = (3 * map_bytes + PAGE - 1) / PAGE;

#ifdef LAYER_FAMILY
	const struct birth *left = birth_found();
	if (left)
		clear(0, reserved); /* the tables below */
#endif
	heap.pages = size / PAGE;
	heap.used = page_address(0);
	heap.dirty = heap.used + map_bytes / 8;
	if (heap.pages % 64)
		bits_fill(heap.used, heap.pages, 64 - heap.pages % 64, true);
	heap.break_first = heap.break_page = reserved;
	heap.break_limit = reserved + heap.pages / 32;
	heap.break_address = (uintptr_t)page_address(reserved);
	heap.lowest = heap.break_limit;
	require(heap.break_limit < heap.pages);
	bits_fill(heap.used, 0, heap.break_limit, true);
	heap.used_count = reserved;
	resident_start((uintptr_t)page_address(0), heap.dirty + map_bytes / 8, heap.pages);
#ifdef LAYER_FAMILY
	if (left)
		inherit(left);
#endif
}

static void *pages_map(size_t pages, bool zeroed)
{
	size_t first = pages ? find_first(pages) : NO_RUN;

	if (first == NO_RUN)
		return 0;
	if (zeroed)
		pages_zero(first, pages);
	pages_take(first, pages);
	return page_address(first);
}

void *heap_map(size_t pages) { return pages_map(pages, true); }
void *heap_map_used(size_t pages) { return pages_map(pages, false); }

void heap_unmap(void *address, size_t pages)
{
	require((uintptr_t)address >= PROCESS_HEAP_VADDR && (uintptr_t)address % PAGE == 0);
	give_back(((uintptr_t)address - PROCESS_HEAP_VADDR) / PAGE, pages);
}

void heap_zero(void *address, size_t pages) { pages_zero(((uintptr_t)address - PROCESS_HEAP_VADDR) / PAGE, pages); }

void heap_usage(size_t *total, size_t *used)
{
	*total = heap.pages;
	*used = heap.used_count;
}

static bool in_break(size_t page) { return page >= heap.break_first && page < heap.break_page; }

bool memory_in_break(uintptr_t address) { return in_break((address - PROCESS_HEAP_VADDR) / PAGE); }

bool memory_is_mapped(uintptr_t address, size_t size)
{
	const size_t first = (address - PROCESS_HEAP_VADDR) / PAGE, count = size / PAGE;

	if (address < PROCESS_HEAP_VADDR || first >= heap.pages || count > heap.pages - first)
		return false;
	for (size_t page = first; page < first + count; page++)
		if (page < heap.break_limit ? !in_break(page) : !bit_get(heap.used, page))
			return false;
	return true;
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

/* A copy in the program's heap of what a file has from `offset` on. */
static long copy_file(struct file *file, off_t offset, size_t size)
{
	char *copy = size > heap.pages * PAGE ? 0 : heap_map((size + PAGE - 1) / PAGE);
	ssize_t n = 1;

	if (!copy)
		return -ENOMEM;
	const off_t before = file->ops->seek(file, 0, SEEK_CUR);
	file->ops->seek(file, offset, SEEK_SET);
	for (size_t done = 0; done < size && n > 0; done += (size_t)n)
		n = file->ops->read(file, copy + done, size - done);
	file->ops->seek(file, before, SEEK_SET);
	if (n < 0)
		heap_unmap(copy, (size + PAGE - 1) / PAGE);
	return n < 0 ? n : (long)copy;
}

/* Private mappings, and shared ones of what never changes, reach no file; others are the file. */
static long map_file(const long *a)
{
	struct file *file = descriptor_file((int)a[4]);
	const void *there = 0;

	if (!file)
		return -EBADF;
	if ((file->flags & O_ACCMODE) == O_WRONLY)
		return -EACCES;
	if (a[5] < 0 || a[5] % PAGE)
		return -EINVAL;
	if (!file->ops->map || a[3] & MAP_FIXED)
		return -ENODEV;
	const bool fixed = file->ops->map(file, a[5], (size_t)a[1], &there);
	if (!(a[3] & MAP_PRIVATE) && a[2] & PROT_WRITE && (file->flags & O_ACCMODE) != O_RDWR)
		return -EACCES;
	if (!(a[3] & MAP_PRIVATE) && !fixed)
		return a[2] & PROT_EXEC ? -EACCES : ramfs_map(file, (size_t)a[5], (size_t)a[1]);
	return there && !(a[2] & PROT_WRITE) ? (long)there : copy_file(file, a[5], (size_t)a[1]);
}

bool memory_in_files(uintptr_t address, size_t size)
{
	const uintptr_t base = (uintptr_t)platform_files();
	const size_t whole = (platform_info()->files_size + PAGE - 1) & -(size_t)PAGE;

	return address % PAGE == 0 && address - base < whole && size && size <= whole - (address - base);
}

long sys_mmap(const long *a)
{
	const size_t size = (size_t)a[1];
	const long rights = protection_rights(a[2]);
	size_t first, count;

	if (!size)
		return -EINVAL;
	if (!(a[3] & MAP_ANONYMOUS))
		return map_file(a);
	if (rights < 0)
		return rights;
	if (a[3] & MAP_FIXED) {
		if (!to_pages((uintptr_t)a[0], size, &first, &count))
			return -EINVAL;
		if (ramfs_map_overlaps((uintptr_t)a[0], size) || !give_back(first, count))
			return -ENOMEM;
	} else {
		if (size > heap.pages * PAGE)
			return -ENOMEM;
		count = (size + PAGE - 1) / PAGE;
		/* most often a thread's stack: away from all else */
		first = rights ? find_first(count) : find_run_down(count);
		if (first == NO_RUN)
			return -ENOMEM;
	}
	pages_zero(first, count);
	pages_take(first, count);
	resident_unseen(first, count);
	if (rights == PAGE_RIGHTS_DEFAULT || !protection_set((uintptr_t)page_address(first), count, (unsigned)rights))
		return (long)page_address(first);
	give_back(first, count);
	return -ENOMEM;
}

long sys_munmap(const long *a)
{
	size_t first, count;

	const uintptr_t begin = (uintptr_t)page_address(heap.break_limit), end = (uintptr_t)page_address(heap.pages);
	uintptr_t low = (uintptr_t)a[0], high = low + (((size_t)a[1] + PAGE - 1) & -(size_t)PAGE);

	if (memory_in_files(low, (size_t)a[1]))
		return 0; /* it stays where it is */
	if (low % PAGE || !a[1] || high <= low || high > USER_END || memory_is_fixed(low, high - low) ||
	    (low < begin && high > PROCESS_HEAP_VADDR))
		return -EINVAL;
	low = low < begin ? begin : low;
	high = high > end ? end : high;
	if (low >= high)
		return 0; /* nothing is there */
	to_pages(low, high - low, &first, &count);
	if (ramfs_map_overlaps(low, high - low))
		return ramfs_unmap(low, high - low);
	return give_back(first, count) ? 0 : -ENOMEM;
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

static bool is_unprotected(size_t first, size_t count)
{
	const uint64_t page = (uintptr_t)page_address(first) / PAGE;

	return page_rights_even(&protected_pages, page, count) &&
	       protection_of((uintptr_t)page_address(first)) == PAGE_RIGHTS_DEFAULT;
}

long sys_mremap(const long *a)
{
	size_t first, old, new = ((size_t)a[2] + PAGE - 1) / PAGE;

	if (a[0] % PAGE || !new || (a[3] & ~MREMAP_MAYMOVE))
		return -EINVAL;
	if (memory_in_stack((uintptr_t)a[0], (size_t)a[1]))
		return -ENOMEM; /* no room behind it: musl measures the first thread's stack by this answer */
	if (!to_pages((uintptr_t)a[0], (size_t)a[1], &first, &old) ||
	    !memory_is_mapped((uintptr_t)a[0], new <= old ? PAGE : old * PAGE))
		return -EFAULT;
	require(first >= heap.break_limit && first + old <= heap.pages);
	const bool of_file = ramfs_map_overlaps((uintptr_t)a[0], old * PAGE);
	if (new < old && of_file)
		return ramfs_unmap((uintptr_t)a[0] + new * PAGE, (old - new) * PAGE) ? -EINVAL : a[0];
	if (new <= old)
		return new == old || give_back(first + new, old - new) ? a[0] : -ENOMEM;
	if (new > heap.pages || of_file)
		return -ENOMEM;
	if (!is_unprotected(first, old))
		return -EFAULT; /* as Linux answers where pages have several rights; here also where all are protected alike */
	if (run_is_free(first + old, new - old)) {
		pages_zero(first + old, new - old);
		pages_take(first + old, new - old);
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

static bool shrink_break(uintptr_t new_end)
{
	const uintptr_t first = new_end & -(uintptr_t)PAGE;

	if (!protection_drop(first, (heap.break_address - first + PAGE - 1) / PAGE))
		return false;
	memset((void *)new_end, 0, heap.break_address - new_end);
	return true;
}

/* On failure the break stays where it is, which is what Linux answers too. */
long sys_brk(const long *a)
{
	uintptr_t new_end = (uintptr_t)a[0];
	uintptr_t low = (uintptr_t)page_address(heap.break_first), high = (uintptr_t)page_address(heap.break_limit);

	if (new_end < low || new_end > high)
		return (long)heap.break_address;
	if (new_end < heap.break_address && !shrink_break(new_end)) /* grown again, it must read as zero */
		return (long)heap.break_address;
	size_t page = (new_end - PROCESS_HEAP_VADDR + PAGE - 1) / PAGE;
	require(page >= heap.break_first && page <= heap.break_limit);
	heap.used_count += page - heap.break_page;
	heap.break_page = page;
	return (long)(heap.break_address = new_end);
}
