/* SPDX-License-Identifier: BSD-2-Clause */
/* The few functions of the C library that the loader and libfdt call. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "loader.h"

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	void *result = to;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size)::"memory");
	return result;
}

void *memset(void *to, int value, size_t size)
{
	void *result = to;
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
	return result;
}

void *memmove(void *to, const void *from, size_t size)
{
	char *t = to;
	const char *f = from;

	if ((uintptr_t)t - (uintptr_t)f >= size)
		return memcpy(to, from, size);
	while (size-- > 0)
		t[size] = f[size];
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *p = a, *q = b;

	for (; size > 0; size--, p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

void *memchr(const void *in, int value, size_t size)
{
	for (const unsigned char *p = in; size > 0; size--, p++)
		if (*p == (unsigned char)value)
			return (void *)(uintptr_t)p;
	return NULL;
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n] != '\0')
		n++;
	return n;
}

size_t strlen(const char *s)
{
	return strnlen(s, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t max)
{
	for (; max > 0; max--, a++, b++)
		if (*a != *b || *a == '\0')
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

char *strcpy(char *restrict to, const char *restrict from)
{
	return memcpy(to, from, strlen(from) + 1);
}

char *strchr(const char *s, int c)
{
	return memchr(s, c, strlen(s) + 1);
}

char *strrchr(const char *s, int c)
{
	for (size_t n = strlen(s) + 1; n-- > 0;)
		if (s[n] == (char)c)
			return (char *)(uintptr_t)s + n;
	return NULL;
}

/* Plain digits of one base, as in libfdt's overlay paths, which the loader never reads. */
unsigned long strtoul(const char *restrict s, char **restrict end, int base)
{
	unsigned long value = 0;

	for (; *s >= '0' && *s < '0' + (base > 10 || base == 0 ? 10 : base); s++)
		value = value * (unsigned)(base ? base : 10) + (unsigned)(*s - '0');
	if (end != NULL)
		*end = (char *)(uintptr_t)s;
	return value;
}

_Noreturn void __stack_chk_fail(void);
_Noreturn void __stack_chk_fail(void)
{
	die("stack overrun while reading the map");
}
