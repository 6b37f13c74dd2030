/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection of pages. The manager changes the rights of pages of the heap and of the first thread's stack
 * (MANAGER_PROTECT); here is the same list that it keeps, so that what is protected is neither read nor written by the
 * layer itself, and what is given back can be used by others.
 */
#include <errno.h>
#include <sys/mman.h>
#include <skerry/errors.h>
#include "layer.h"
#include "platform.h"

struct page_rights protected_pages;

long protection_rights(long prot)
{
	if (prot & ~(long)(PROT_READ | PROT_WRITE | PROT_EXEC))
		return -EINVAL;
	if ((prot & PROT_WRITE) && (prot & PROT_EXEC))
		return -EACCES;
	return (prot ? RIGHT_READ : 0) | (prot & PROT_WRITE ? RIGHT_WRITE : 0) | (prot & PROT_EXEC ? RIGHT_EXECUTE : 0);
}

#ifdef LAYER_CORES

/*
 * Changes pages that all have the rights `old` now; the manager does long ranges by and by. Threads of other cores look
 * at the list meanwhile: it has from before the first call on what pages keep throughout, and what they have gained
 * only afterwards.
 */
static long change_some(uint64_t page, uint64_t end, unsigned old, unsigned rights)
{
	if ((old & rights) != old && !page_rights_set(&protected_pages, page, end - page, old & rights))
		return -ENOMEM;
	while (page < end) {
		require(end - page <= UINT32_MAX);
		layer_unlock();
		const int64_t done = platform_protect(page * PAGE, (end - page) * PAGE, rights);
		layer_lock();
		const uint64_t pages = (uint64_t)done / PAGE;
		if (done <= 0 || pages > end - page || !page_rights_set(&protected_pages, page, pages, rights)) {
			page_rights_set(&protected_pages, page, end - page, old);
			return done == -SKERRY_NO_RIGHTS ? -EACCES : -ENOMEM;
		}
		page += pages;
	}
	return 0;
}

/* One thread at a time, so that both lists change in the same order. The lock is released meanwhile; the pages are the
 * caller's. */
long protection_set(uintptr_t address, size_t pages, unsigned rights)
{
	static struct lock changing; /* is taken in front of the layer's */
	const uint64_t end = address / PAGE + pages;
	uint64_t next;
	long error = 0;

	require(address % PAGE == 0 && pages && layer_is_locked());
	layer_unlock();
	if (!lock_try(&changing))
		lock_wait(&changing, thread_self()->index);
	layer_lock();
	for (uint64_t page = address / PAGE; page < end && !error; page = next) {
		const unsigned old = page_rights_of(&protected_pages, page, end, &next);
		if (old != rights)
			error = change_some(page, next, old, rights);
	}
	lock_give(&changing);
	return error;
}

#else

/* Pages that have the same rights now; the manager does long ranges by and by. Other threads need not wait for it. */
static long change_some(uint64_t page, uint64_t end, unsigned rights)
{
	while (page < end) {
		require(page < end && end - page <= UINT32_MAX);
		layer_unlock();
		const int64_t done = platform_protect(page * PAGE, (end - page) * PAGE, rights);
		layer_lock();
		const uint64_t pages = (uint64_t)done / PAGE;
		if (done <= 0 || pages > end - page || !page_rights_set(&protected_pages, page, pages, rights))
			return done == -SKERRY_NO_RIGHTS ? -EACCES : -ENOMEM;
		page += pages;
	}
	return 0;
}

/* One thread at a time, so that both lists change in the same order. The lock is released meanwhile; the pages are the
 * caller's. */
long protection_set(uintptr_t address, size_t pages, unsigned rights)
{
	static bool busy;
	const uint64_t end = address / PAGE + pages;
	uint64_t next;
	long error = 0;

	require(address % PAGE == 0 && pages && layer_is_locked());
	while (busy) {
		layer_unlock();
		platform_yield();
		layer_lock();
	}
	busy = true;
	for (uint64_t page = address / PAGE; page < end && !error; page = next)
		if (page_rights_of(&protected_pages, page, end, &next) != rights)
			error = change_some(page, next, rights);
	busy = false;
	return error;
}

#endif

unsigned protection_of(uintptr_t address)
{
	uint64_t end;

	return page_rights_of(&protected_pages, address / PAGE, address / PAGE + 1, &end);
}

bool memory_in_stack(uintptr_t address, size_t size)
{
	const uintptr_t offset = address - (PROCESS_STACK_TOP - PROCESS_STACK_SIZE);

	return offset < PROCESS_STACK_SIZE && size <= PROCESS_STACK_SIZE - offset;
}

bool memory_in_image(uintptr_t address, size_t size)
{
	extern const char __executable_start[], _end[];
	const uintptr_t image = (uintptr_t)__executable_start & -(uintptr_t)PAGE,
	                end = ((uintptr_t)_end + PAGE - 1) & -(uintptr_t)PAGE;

	return address >= image && address < end && size <= end - address;
}

static bool ranges_overlap(uintptr_t address, size_t size, uintptr_t low, uintptr_t high)
{
	return address < high && low < address + size;
}

bool memory_is_fixed(uintptr_t address, size_t size)
{
	extern const char __executable_start[], _end[];
	const uintptr_t files = (uintptr_t)platform_files();

	return ranges_overlap(address, size, (uintptr_t)__executable_start & -(uintptr_t)PAGE, (uintptr_t)_end) ||
	       ranges_overlap(address, size, PROCESS_STACK_TOP - PROCESS_STACK_SIZE, PROCESS_STACK_TOP) ||
	       ranges_overlap(address, size, files, files + platform_info()->files_size);
}

long sys_mprotect(const long *a)
{
	const uintptr_t address = (uintptr_t)a[0];
	const size_t size = ((size_t)a[1] + PAGE - 1) & -(size_t)PAGE;
	const long rights = protection_rights(a[2]);

	if (address % PAGE || rights == -EINVAL)
		return -EINVAL;
	if (!a[1])
		return 0;
	if (!size || size > UINTPTR_MAX - address)
		return -ENOMEM;
	if (memory_in_image(address, size) || memory_in_files(address, size) ||
	    (ramfs_map_overlaps(address, size) && rights != PAGE_RIGHTS_DEFAULT))
		return -EACCES;
	if (!memory_is_mapped(address, size) && !memory_in_stack(address, size))
		return -ENOMEM;
	return rights < 0 ? rights : protection_set(address, size / PAGE, (unsigned)rights);
}
