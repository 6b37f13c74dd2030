/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * musl's assembly files that hold raw system calls, again in C. Without
 * signals a thread is cancelled when it next makes a cancellable call.
 */
#include <errno.h>
#include "layer.h"

long skerry_syscall(long, long, long, long, long, long, long);
long __cancel(void);

/* musl's signal handler compares a program counter with these; it never runs. */
const char __cp_begin[1], __cp_end[1], __cp_cancel[1];

long __syscall_cp_asm(volatile int *cancelled, long n, long a, long b, long c, long d, long e, long f)
{
	return *cancelled ? __cancel() : skerry_syscall(n, a, b, c, d, e, f);
}

/* Where a signal handler would return to. */
_Noreturn void __restore_rt(void) { __builtin_trap(); }

int vfork(void)
{
	errno = ENOSYS; /* called from programs only, when thread-local storage exists */
	return -1;
}
