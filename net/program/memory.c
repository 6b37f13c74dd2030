/* SPDX-License-Identifier: BSD-2-Clause */
/* What the compiler may call in a program without libc. No frame passes through here: copy.h. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int byte, size_t size);

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	void *start = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
	return start;
}

void *memset(void *to, int byte, size_t size)
{
	void *start = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
	return start;
}
