/* SPDX-License-Identifier: BSD-2-Clause */
/* Our memory and string functions beside the C library's, over random bytes of all short sizes and offsets. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define memcpy ours_memcpy
#define memmove ours_memmove
#define memset ours_memset
#define memcmp ours_memcmp
#define memchr ours_memchr
#define strlen ours_strlen
#define strnlen ours_strnlen
#define strcpy ours_strcpy
#define strcmp ours_strcmp
#define strncmp ours_strncmp
#define strchr ours_strchr
#define strrchr ours_strrchr
#define strtoul ours_strtoul
#include "string.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef memchr
#undef strlen
#undef strnlen
#undef strcpy
#undef strcmp
#undef strncmp
#undef strchr
#undef strrchr
#undef strtoul

enum { ROOM = 160, ROUNDS = 200000, SEED = 20261122 };

#define CHECK(condition)                                                                              \
	do {                                                                                          \
		if (!(condition)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                      \
		}                                                                                     \
	} while (0)

static unsigned below(unsigned n) { return (unsigned)rand() % n; }
static int sign(int value) { return (value > 0) - (value < 0); }

/* Few different bytes, so that much is alike; `end`: the last is a 0. */
static void draw(char *bytes, bool end)
{
	for (unsigned i = 0; i < ROOM; i++)
		bytes[i] = below(40) ? (char)("ab\xff"[below(3)]) : 0;
	if (end)
		bytes[ROOM - 1] = 0;
}

static void memory(void)
{
	char a[ROOM], b[ROOM], from[ROOM];
	unsigned to = below(ROOM / 2), at = below(ROOM / 2), size = below(ROOM / 2 + 1);
	int byte = (int)below(512) - 256;

	draw(a, false);
	draw(from, false);
	memcpy(b, a, ROOM);
	CHECK(ours_memcpy(a + to, from + at, size) == a + to);
	memcpy(b + to, from + at, size);
	CHECK(!memcmp(a, b, ROOM));
	CHECK(ours_memmove(a + to, a + at, size) == a + to);
	memmove(b + to, b + at, size);
	CHECK(!memcmp(a, b, ROOM));
	CHECK(sign(ours_memcmp(a + to, a + at, size)) == sign(memcmp(a + to, a + at, size)));
	CHECK(ours_memchr(a + to, byte, size) == memchr(a + to, byte, size));
	CHECK(ours_memset(a + to, byte, size) == a + to);
	memset(b + to, byte, size);
	CHECK(!memcmp(a, b, ROOM));
}

static void strings(void)
{
	char text[ROOM], copy[ROOM] = { 0 };
	unsigned at = below(ROOM), other = below(ROOM), size = below(ROOM - (at > other ? at : other) + 1);
	int c = "ab\xff"[below(4)];

	draw(text, true);
	CHECK(ours_strcpy(copy, text + at) == copy && !strcmp(copy, text + at) && !copy[ROOM - 1]);
	CHECK(ours_strlen(text + at) == strlen(text + at));
	CHECK(ours_strnlen(text + at, size) == strnlen(text + at, size));
	CHECK(sign(ours_strcmp(text + at, text + other)) == sign(strcmp(text + at, text + other)));
	CHECK(sign(ours_strncmp(text + at, text + other, size)) == sign(strncmp(text + at, text + other, size)));
	CHECK(ours_strchr(text + at, c) == strchr(text + at, c));
	CHECK(ours_strrchr(text + at, c) == strrchr(text + at, c));
}

static void numbers(void)
{
	static const char *const text[] = { "", "0", "7", "12x", "0x1f", "0X1F", "0x", "0xg", "017", "018", "ffg", "zZ",
					    "18446744073709551615" };
	static const int base[] = { 0, 8, 10, 16, 36 };

	for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		for (unsigned k = 0; k < sizeof(base) / sizeof(base[0]); k++) {
			char *end, *expected;
			unsigned long value = ours_strtoul(text[i], &end, base[k]);

			if (base[k] > 10 && strlen(text[i]) == 20)
				continue; /* more than 64 bits: ours does not look */
			CHECK(value == strtoul(text[i], &expected, base[k]));
			CHECK(end == expected);
		}
	CHECK(ours_strtoul("5", NULL, 10) == 5);
}

int main(void)
{
	srand(SEED);
	for (unsigned i = 0; i < ROUNDS; i++) {
		memory();
		strings();
	}
	numbers();
	return 0;
}
