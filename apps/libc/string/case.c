/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strcasecmp() by 16-byte words, in place of musl's, which calls tolower() for each character: Redis looks up every
 * command with it. Bytes above 127 have no case here, as in musl's only locale.
 */
#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <strings.h>

enum { WORD = 16, PAGE = 4096 };

static inline unsigned lower(unsigned char c) { return (unsigned)c - 'A' < 26 ? c | 32u : c; }

/* In signed bytes 'A' to 'Z' are the 26 smallest when 'A' becomes -128. */
static inline __m128i lower16(__m128i text)
{
	const __m128i moved = _mm_add_epi8(text, _mm_set1_epi8((char)(128 - 'A')));
	const __m128i upper = _mm_cmplt_epi8(moved, _mm_set1_epi8((char)(-128 + 26)));

	return _mm_or_si128(text, _mm_and_si128(upper, _mm_set1_epi8(32)));
}

/* A word from there on is on the page where it begins. */
static inline bool word_at(const unsigned char *text) { return (uintptr_t)text % PAGE <= PAGE - WORD; }

/* A bit for each byte at which the comparison ends: the texts differ there, or both end. */
static inline unsigned ends(const unsigned char *left, const unsigned char *right)
{
	const __m128i a = _mm_loadu_si128((const __m128i *)left), b = _mm_loadu_si128((const __m128i *)right);
	const __m128i same = _mm_cmpeq_epi8(lower16(a), lower16(b)), end = _mm_cmpeq_epi8(a, _mm_setzero_si128());

	return (unsigned)_mm_movemask_epi8(_mm_andnot_si128(end, same)) ^ 0xffff;
}

int strcasecmp(const char *left, const char *right)
{
	const unsigned char *a = (const unsigned char *)left, *b = (const unsigned char *)right;

	if ((*a ^ *b) & ~32u) /* most names differ in their first letter already, and not by its case */
		return (int)lower(*a) - (int)lower(*b);
	for (;;) {
		if (word_at(a) && word_at(b)) {
			const unsigned matches = ends(a, b);

			if (matches) {
				const unsigned at = (unsigned)__builtin_ctz(matches);

				if (a[at] == b[at])
					return 0;
				return (int)lower(a[at]) - (int)lower(b[at]);
			}
			a += WORD, b += WORD;
		} else {
			if (!*a || lower(*a) != lower(*b))
				return (int)lower(*a) - (int)lower(*b);
			a++, b++;
		}
	}
}
