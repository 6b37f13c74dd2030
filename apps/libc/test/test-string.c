/* SPDX-License-Identifier: BSD-2-Clause */
/* Our copying, comparing and searching, against the obvious loops, at all small sizes and alignments. */
#define _GNU_SOURCE
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include "posixtest.h"

enum { SIZE_MAX_TRIED = 300, ROOM = 1024 };

static unsigned char buffer[ROOM], expected[ROOM];

static void fill(void)
{
	for (unsigned i = 0; i < ROOM; i++)
		buffer[i] = expected[i] = (unsigned char)(i * 167 + (i >> 8));
}

static bool moves(void *(*volatile move)(void *, const void *, size_t), size_t to, size_t from, size_t n)
{
	fill();
	for (size_t i = 0; i < n; i++)
		expected[to + i] = buffer[from + i]; /* from the original: `buffer` is still whole */
	CHECK(move(buffer + to, buffer + from, n) == buffer + to);
	for (unsigned i = 0; i < ROOM; i++)
		CHECK(buffer[i] == expected[i]);
	return true;
}

TEST(test_move, "move")
{
	static const int distances[] = { -300, -65, -64, -63, -33, -17, -16, -15, -8, -1, 0, 1, 7, 15, 16, 17, 31, 48,
	                                 63, 64, 65, 200 };

	for (size_t n = 0; n < SIZE_MAX_TRIED; n++)
		for (unsigned i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
			CHECK(moves(memmove, (size_t)(350 + distances[i]), 350 + n % 3, n));
	return true;
}

TEST(test_copy, "copy")
{
	for (size_t n = 0; n < SIZE_MAX_TRIED; n++)
		for (size_t offset = 0; offset < 17; offset++)
			CHECK(moves((void *(*)(void *, const void *, size_t))memcpy, 512 + offset, n % 16, n));
	return true;
}

static int sign(int x) { return (x > 0) - (x < 0); }

TEST(test_compare, "compare")
{
	int (*volatile compare)(const void *, const void *, size_t) = memcmp;
	unsigned char *a = buffer + 3, *b = buffer + 512;

	for (size_t n = 0; n < SIZE_MAX_TRIED; n++) {
		memset(buffer, 'x', ROOM);
		a[n] = 1; /* behind the end: does not count */
		CHECK(compare(a, b, n) == 0);
		for (size_t at = 0; at < n; at++)
			for (int other = 0; other < 256; other += 85) {
				b[at] = (unsigned char)other;
				b[n - 1] ^= at + 1 < n; /* a later difference does not count */
				CHECK(sign(compare(a, b, n)) == sign('x' - other));
				CHECK(sign(compare(b, a, n)) == sign(other - 'x'));
				b[at] = b[n - 1] = 'x';
			}
	}
	return true;
}


TEST(test_find, "find")
{
	void *(*volatile find)(const void *, int, size_t) = memchr;

	for (size_t start = 0; start < 17; start++)
		for (size_t n = 0; n < 70; n++) {
			memset(buffer, 'x', ROOM);
			buffer[start + n] = '\n';
			if (start)
				buffer[start - 1] = '\n';
			CHECK(find(buffer + start, '\n', n) == NULL);
			for (size_t at = n; at-- > 0;) {
				buffer[start + at] = '\n';
				CHECK(find(buffer + start, '\n', n) == buffer + start + at);
				CHECK(find(buffer + start, '\n' + 256, (size_t)-1) == buffer + start + at);
			}
		}
	return true;
}

/* A page, and behind it one that nobody may touch. */
static char *last_page(void)
{
	char *pages = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages != MAP_FAILED && munmap(pages + 4096, 4096) == 0 ? pages : NULL;
}

/* Bytes up to the edge of a page, and across one. */
TEST(test_find_at_an_edge, "find at an edge")
{
	void *(*volatile find)(const void *, int, size_t) = memchr;
	char *page = last_page();

	CHECK(page);
	for (size_t n = 0; n < 70; n++) {
		char *bytes = page + 4096 - n;

		memset(page, 'x', 4096);
		CHECK(find(bytes, '\n', n) == NULL);
		for (size_t at = 0; at < n; at++) {
			bytes[at] = '\n';
			CHECK(find(bytes, '\n', n) == bytes + at);
			CHECK(find(bytes, '\n', at) == NULL);
			bytes[at] = 'x';
		}
	}
	return munmap(page, 4096) == 0;
}

/* Texts up to the edge of a page, and across one. */
TEST(test_find_in_text, "find in a text")
{
	char *(*volatile find)(const char *, int) = strchr, *(*volatile find_or_end)(const char *, int) = strchrnul;
	char *page = last_page();

	CHECK(page);
	for (size_t n = 0; n < 70; n++)
		for (size_t behind = 0; behind < 17; behind++) {
			char *text = page + 4096 - 1 - n - behind, *end = text + n;

			memset(page, '\n', 4096); /* what is beside the text does not count */
			memset(text, 'x', n);
			*end = 0;
			CHECK(!find(text, '\n') && find_or_end(text, '\n') == end);
			CHECK(find(text, 0) == end && find_or_end(text, 256) == end);
			for (size_t at = n; at-- > 0;) {
				text[at] = (char)0xe1;
				CHECK(find(text, 0xe1) == text + at && find(text, -31) == text + at);
				CHECK(find_or_end(text, 0xe1 + 256) == text + at);
			}
		}
	return munmap(page, 4096) == 0;
}

static int lowered(unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c; }

static int compared(const unsigned char *a, const unsigned char *b)
{
	while (*a && lowered(*a) == lowered(*b))
		a++, b++;
	return lowered(*a) - lowered(*b);
}

/* All pairs of characters, at the end of texts up to the edges of pages, with other bytes behind the end. */
TEST(test_compare_case, "compare without case")
{
	int (*volatile compare)(const char *, const char *) = strcasecmp;
	char *left = last_page(), *right = last_page();

	CHECK(left && right);
	for (size_t n = 0; n < 40; n++)
		for (size_t behind = 0; behind < 36; behind += behind < 3 ? 1 : 11) {
			char *a = left + 4096 - 2 - n, *b = right + 4096 - 2 - n - behind;

			memset(left, 'l', 4096);
			memset(right, 'r', 4096);
			for (size_t i = 0; i < n; i++) {
				a[i] = (char)("aBz@Z"[i % 5]);
				b[i] = (char)("AbZ@z"[i % 5]);
			}
			a[n + 1] = b[n + 1] = 0;
			for (unsigned c = 0; c < 256; c += n ? 5 : 1)
				for (unsigned d = 0; d < 256; d++) {
					a[n] = (char)c;
					b[n] = (char)d;
					CHECK(compare(a, b) == compared((unsigned char *)a, (unsigned char *)b));
				}
		}
	return munmap(left, 4096) == 0 && munmap(right, 4096) == 0;
}
