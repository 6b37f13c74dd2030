/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in front of musl's own file of this name: every system call that musl
 * makes becomes a call of one C function (posix/dispatch.c). VDSO_USEFUL stays
 * undefined, so that the clocks come the same way.
 */
#define __SYSCALL_LL_E(x) (x)
#define __SYSCALL_LL_O(x) (x)

__attribute__((visibility("hidden")))
long skerry_syscall(long n, long a, long b, long c, long d, long e, long f);

static inline long __syscall0(long n) { return skerry_syscall(n, 0, 0, 0, 0, 0, 0); }
static inline long __syscall1(long n, long a) { return skerry_syscall(n, a, 0, 0, 0, 0, 0); }
static inline long __syscall2(long n, long a, long b) { return skerry_syscall(n, a, b, 0, 0, 0, 0); }
static inline long __syscall3(long n, long a, long b, long c) { return skerry_syscall(n, a, b, c, 0, 0, 0); }
static inline long __syscall4(long n, long a, long b, long c, long d)
{
	return skerry_syscall(n, a, b, c, d, 0, 0);
}
static inline long __syscall5(long n, long a, long b, long c, long d, long e)
{
	return skerry_syscall(n, a, b, c, d, e, 0);
}
static inline long __syscall6(long n, long a, long b, long c, long d, long e, long f)
{
	return skerry_syscall(n, a, b, c, d, e, f);
}

#define IPC_64 0
