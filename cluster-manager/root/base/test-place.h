/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory at the addresses at which the kernel gives it to the root task, in the process of a test. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { SKIPPED = 77 }; /* the exit status of a test that has no such memory */

/* Zeroed memory of `size` bytes at `address`; null where something else is mapped. */
static inline void *test_place(uint64_t address, size_t size)
{
	void *place = mmap((void *)address, size, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return (uint64_t)place == address ? place : NULL;
}
