/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In the layer's place in programs of `skerry cc --for-linux`: musl's system
 * calls go to the Linux on which the program runs. For configure scripts that
 * insist on running what they compile.
 */
long skerry_syscall(long n, long a, long b, long c, long d, long e, long f);

long skerry_syscall(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
