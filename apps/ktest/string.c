/* SPDX-License-Identifier: BSD-2-Clause */
/* What the compiler calls by itself. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	void *d = to;
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(size) : : "memory");
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	void *d = to;
	__asm__ volatile("rep stosb" : "+D"(d), "+c"(size) : "a"(byte) : "memory");
	return to;
}
