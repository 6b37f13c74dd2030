/* SPDX-License-Identifier: BSD-2-Clause */
/* Linux's own system calls, for the parts of the host tests that stand for Skerry below the layer. */
#pragma once

#include <sys/syscall.h>

static inline long linux_call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return result;
}
