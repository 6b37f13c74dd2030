/* SPDX-License-Identifier: BSD-2-Clause */
#include "string.h"

#include <stdint.h>

/* `rep movsq` keeps the compiler from turning a copying loop into a call of itself. */
void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	void *d = to;
	const void *s = from;
	size_t words = size / 8, bytes = size % 8;
	__asm__ volatile("rep movsq" : "+D"(d), "+S"(s), "+c"(words) : : "memory");
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(bytes) : : "memory");
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	if ((uintptr_t)to - (uintptr_t)from >= size)
		return memcpy(to, from, size);
	unsigned char *d = (unsigned char *)to + size - 1;
	const unsigned char *s = (const unsigned char *)from + size - 1;
	__asm__ volatile("std; rep movsb; cld" : "+D"(d), "+S"(s), "+c"(size) : : "memory");
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	void *d = to;
	uint64_t pattern = 0x0101010101010101ull * (uint8_t)byte;
	size_t words = size / 8, bytes = size % 8;
	__asm__ volatile("rep stosq" : "+D"(d), "+c"(words) : "a"(pattern) : "memory");
	__asm__ volatile("rep stosb" : "+D"(d), "+c"(bytes) : "a"(pattern) : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *x = a, *y = b;
	for (; size; size--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

void *memchr(const void *memory, int byte, size_t size)
{
	const unsigned char *s = memory;
	for (; size; size--, s++)
		if (*s == (unsigned char)byte)
			return (void *)s;
	return NULL;
}

size_t strlen(const char *s)
{
	const char *end = s;
	while (*end)
		end++;
	return (size_t)(end - s);
}

size_t strnlen(const char *s, size_t max)
{
	size_t length = 0;
	while (length < max && s[length])
		length++;
	return length;
}

int strncmp(const char *a, const char *b, size_t max)
{
	for (; max; max--, a++, b++)
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

char *strcpy(char *restrict to, const char *restrict from) { return memcpy(to, from, strlen(from) + 1); }

int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }

char *strchr(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;
	for (;; s++) {
		if (*s == (char)c)
			last = s;
		if (!*s)
			return (char *)last;
	}
}

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10 : 99;
}

/* Digits only, with 0x or 0 as prefix when base is 0: no sign, no white space; libfdt needs no more. */
unsigned long strtoul(const char *s, char **end, int base)
{
	unsigned long value = 0;
	if ((base == 0 || base == 16) && s[0] == '0' && (s[1] | 0x20) == 'x' && digit_value(s[2]) < 16) {
		s += 2;
		base = 16;
	} else if (base == 0) {
		base = *s == '0' ? 8 : 10;
	}
	for (; digit_value(*s) < (unsigned)base; s++)
		value = value * (unsigned)base + digit_value(*s);
	if (end)
		*end = (char *)s;
	return value;
}
