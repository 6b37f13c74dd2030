/* SPDX-License-Identifier: BSD-2-Clause */
/* strcasecmp() without musl's call of tolower() for each character: Redis looks up every command with it. */
#include <strings.h>

static inline unsigned lower(unsigned char c) { return (unsigned)c - 'A' < 26 ? c | 32u : c; }

int strcasecmp(const char *left, const char *right)
{
	const unsigned char *a = (const unsigned char *)left, *b = (const unsigned char *)right;

	while (*a && (*a == *b || lower(*a) == lower(*b)))
		a++, b++;
	return (int)lower(*a) - (int)lower(*b);
}
