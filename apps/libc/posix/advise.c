/* SPDX-License-Identifier: BSD-2-Clause */
/* madvise(), mlock() and munlock(): calls about ranges of pages that must be there. Nothing is ever paged out. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <skerry/process.h>
#include "layer.h"
#include "platform.h"

static size_t whole_pages(size_t size) { return (size + PAGE - 1) & -(size_t)PAGE; }

/* Returns whether all of these pages are there. */
static bool is_there(uintptr_t address, size_t size)
{
	return memory_is_mapped(address, size) || memory_in_stack(address, size) || memory_in_image(address, size) ||
	       memory_in_files(address, size);
}

/* False: it is protected, and there is no room to change that for the time being. */
static bool drop_content(uintptr_t address)
{
	const unsigned rights = protection_of(address);

	if (!protection_drop(address, 1))
		return false;
	memset((void *)address, 0, PAGE);
	return rights == PAGE_RIGHTS_DEFAULT || !protection_set(address, 1, rights);
}

/* Drops what the pages of the heap hold that are there. */
static long dont_need(uintptr_t address, size_t size)
{
	const uintptr_t heap_end = PROCESS_HEAP_VADDR + platform_info()->heap_size;
	const uintptr_t low = address < PROCESS_HEAP_VADDR ? PROCESS_HEAP_VADDR : address;
	const uintptr_t high = address + size > heap_end ? heap_end : address + size;
	long error = low != address || high != address + size ? -ENOMEM : 0;

	for (uintptr_t page = low; page < high; page += PAGE) {
		if (!memory_is_mapped(page, PAGE))
			error = -ENOMEM;
		else if (platform_is_touched(page) && !drop_content(page))
			return -ENOMEM;
		else if (!memory_in_break(page))
			resident_unseen((page - PROCESS_HEAP_VADDR) / PAGE, 1);
	}
	return error;
}

long sys_madvise(const long *a)
{
	const uintptr_t address = (uintptr_t)a[0];
	const size_t size = whole_pages((size_t)a[1]);

	if (address % PAGE || size < (size_t)a[1] || size > UINTPTR_MAX - address)
		return -EINVAL;
	if (!size)
		return 0;
	/* the others are only hints; a file keeps what it holds */
	if (a[2] != MADV_DONTNEED || ramfs_map_overlaps(address, size))
		return is_there(address, size) ? 0 : -ENOMEM;
	return memory_is_fixed(address, size) ? -EINVAL : dont_need(address, size);
}

static long lock_pages(const long *a)
{
	const uintptr_t address = (uintptr_t)a[0] & -(uintptr_t)PAGE;
	const size_t size = whole_pages((size_t)a[1] + (uintptr_t)a[0] % PAGE); /* may wrap, as Linux's does */

	if (size > UINTPTR_MAX - address)
		return -EINVAL;
	return !size || is_there(address, size) ? 0 : -ENOMEM;
}

long sys_mlock(const long *a) { return lock_pages(a); }
long sys_munlock(const long *a) { return lock_pages(a); }
long sys_mlockall(const long *a) { (void)a; return 0; }
long sys_munlockall(const long *a) { (void)a; return 0; }
