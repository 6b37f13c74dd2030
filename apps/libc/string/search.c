/* SPDX-License-Identifier: BSD-2-Clause */
/* Comparing and searching by 16-byte words, in place of musl's, which go byte by byte where strings are short. */
#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t word8 __attribute__((aligned(1), may_alias));
typedef uint32_t word4 __attribute__((aligned(1), may_alias));

/* A bit for each byte that is the same in both. */
static inline unsigned same(__m128i a, __m128i b) { return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)); }

static inline __m128i load(const void *from) { return _mm_loadu_si128(from); }

static int difference16(const unsigned char *a, const unsigned char *b)
{
	unsigned at = (unsigned)__builtin_ctz(~same(load(a), load(b)));

	return a[at] - b[at];
}

static int order(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

int memcmp(const void *left, const void *right, size_t n)
{
	const unsigned char *a = left, *b = right;

	if (n >= 16) {
		const unsigned char *last = a + n - 16;

		for (; a < last; a += 16, b += 16)
			if (same(load(a), load(b)) != 0xffff)
				return difference16(a, b);
		b -= a - last;
		return same(load(last), load(b)) == 0xffff ? 0 : difference16(last, b);
	}
	if (n >= 8) {
		uint64_t x = *(const word8 *)a, y = *(const word8 *)b;
		if (x == y) {
			x = *(const word8 *)(a + n - 8);
			y = *(const word8 *)(b + n - 8);
		}
		return order(__builtin_bswap64(x), __builtin_bswap64(y));
	}
	if (n >= 4) {
		uint32_t x = *(const word4 *)a, y = *(const word4 *)b;
		if (x == y) {
			x = *(const word4 *)(a + n - 4);
			y = *(const word4 *)(b + n - 4);
		}
		return order(__builtin_bswap32(x), __builtin_bswap32(y));
	}
	for (; n; n--, a++, b++)
		if (*a != *b)
			return *a - *b;
	return 0;
}

/* Returns whether 16 bytes from here are in one page: some of them may be read that nobody has asked for. */
static inline int in_one_page(const void *at) { return ((uintptr_t)at & 4095) <= 4096 - 16; }

/* Reads whole aligned words, which never reach into another page than the bytes that are asked for. */
static __attribute__((noinline)) void *find_far(const void *bytes, __m128i pattern, size_t n)
{
	const unsigned offset = (uintptr_t)bytes % 16;
	const char *at = (const char *)bytes - offset, *end = (const char *)bytes + n;
	unsigned matches;

	if (end < (const char *)bytes) /* n stands for "without end" */
		end = (const char *)UINTPTR_MAX;
	matches = same(_mm_load_si128((const __m128i *)at), pattern) >> offset << offset;
	while (!matches) {
		at += 16;
		if (at >= end)
			return NULL;
		matches = same(_mm_load_si128((const __m128i *)at), pattern);
	}
	at += __builtin_ctz(matches);
	return at < end ? (void *)at : NULL;
}

/* The byte is nearly always within the first 16 bytes. */
void *memchr(const void *bytes, int byte, size_t n)
{
	const __m128i pattern = _mm_set1_epi8((char)byte);

	if (!n)
		return NULL;
	if (in_one_page(bytes)) {
		const unsigned matches = same(load(bytes), pattern);

		if (matches) {
			const size_t at = (size_t)__builtin_ctz(matches);
			return at < n ? (char *)bytes + at : NULL;
		}
		if (n <= 16)
			return NULL;
	}
	return find_far(bytes, pattern, n);
}

static __attribute__((noinline)) char *find_end_far(const char *text, __m128i pattern)
{
	const __m128i zero = _mm_setzero_si128();
	const unsigned offset = (uintptr_t)text % 16;
	const char *at = text - offset;
	__m128i word = _mm_load_si128((const __m128i *)at);
	unsigned matches = (same(word, pattern) | same(word, zero)) >> offset << offset;

	while (!matches) {
		at += 16;
		word = _mm_load_si128((const __m128i *)at);
		matches = same(word, pattern) | same(word, zero);
	}
	return (char *)at + __builtin_ctz(matches);
}

/* The first `byte` of the text, or its end. Reads as memchr() does. */
char *__strchrnul(const char *text, int byte)
{
	const __m128i pattern = _mm_set1_epi8((char)byte);

	if (in_one_page(text)) {
		const __m128i word = load(text);
		const unsigned matches = same(word, pattern) | same(word, _mm_setzero_si128());

		if (matches)
			return (char *)text + __builtin_ctz(matches);
	}
	return find_end_far(text, pattern);
}

char *strchrnul(const char *text, int byte) __attribute__((alias("__strchrnul")));

char *strchr(const char *text, int byte)
{
	char *at = __strchrnul(text, byte);

	return *at == (char)byte ? at : NULL;
}

char *index(const char *text, int byte) __attribute__((alias("strchr")));
