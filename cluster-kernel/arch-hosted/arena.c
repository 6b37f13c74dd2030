/* SPDX-License-Identifier: BSD-2-Clause */
#include "arena.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "arch_inline.h"

#define ARENA_SIZE ((ARENA_CLUSTERS + 1ull) << ARENA_PART_BITS)
#define ARENA_ALIGN (1ull << 30) /* so that physical alignment is alignment */

uint64_t hosted_direct_base;

static _Noreturn void arena_fail(const char *what)
{
	perror(what);
	abort();
}

static void arena_reserve(void)
{
	void *start = mmap(0, ARENA_SIZE + ARENA_ALIGN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		arena_fail("reserving the arena");
	hosted_direct_base = ((uint64_t)start + ARENA_ALIGN - 1) & -ARENA_ALIGN;
}

static void arena_map(uint64_t base, uint64_t size, int protection)
{
	void *address = (void *)(hosted_direct_base + base);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	if (mmap(address, size, protection, flags, -1, 0) == MAP_FAILED)
		arena_fail("mapping physical memory");
	if (protection != PROT_NONE)
		madvise(address, size, MADV_HUGEPAGE); /* cheaper to fill; as well if it is not to be had */
}

void arena_take(uint64_t base, uint64_t size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, arena_reserve);
	arena_map(base, size, PROT_READ | PROT_WRITE);
}

void arena_drop(uint64_t base, uint64_t size) { arena_map(base, size, PROT_NONE); }
