/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <skerry/tsc.h>
#include <skerry/x86.h>

/* Not before what comes before it has been done: for measuring. */
static inline uint64_t read_tsc_in_order(void)
{
	__asm__ volatile("lfence" ::: "memory");
	return read_tsc();
}
