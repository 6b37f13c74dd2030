/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libgomp's futexes by the C library's syscall(): GCC's header of targets without one of their own. Its cpu_relax() is
 * no instruction; here it is PAUSE, as in GCC's header for x86, which enters Linux directly.
 */
#ifndef SKERRY_OPENMP_FUTEX_H
#define SKERRY_OPENMP_FUTEX_H

#define cpu_relax compiler_barrier
#include "config/linux/futex.h"
#undef cpu_relax

/* Lets the other thread of a core run while a loop of do_spin() waits (Intel's manual, volume 2: PAUSE). */
static inline void cpu_relax(void)
{
	compiler_barrier();
	__builtin_ia32_pause();
}

#endif
