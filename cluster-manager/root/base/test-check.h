/* SPDX-License-Identifier: BSD-2-Clause */
/* A check that says where and what failed, and lets the test go on; memory at a chosen address. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

static int failures;

#define CHECK(condition)                                                            \
	do {                                                                        \
		if (!(condition)) {                                                 \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                                 \
		}                                                                   \
	} while (0)

enum { SKIPPED = 77 }; /* the exit status of a test that has no such memory */

/*
 * Returns zeroed memory of `size` bytes at `address`, as the kernel gives it to the root task there, in the process of
 * a test; null where something else is mapped.
 */
static inline void *test_place(uint64_t address, size_t size)
{
	void *place = mmap((void *)address, size, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return (uint64_t)place == address ? place : NULL;
}
