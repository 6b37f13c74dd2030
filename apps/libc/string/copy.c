/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memcpy() and memmove() by 16-byte words, or by 32-byte words from 256 bytes on
 * where the processor has AVX, in place of musl's, which are `rep movs`: at the
 * sizes that servers copy, its start costs a real core more than the copy, and an
 * emulator runs it word by word.
 */
#include <cpuid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t word32 __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint64_t word16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t word8 __attribute__((aligned(1), may_alias));
typedef uint32_t word4 __attribute__((aligned(1), may_alias));
typedef uint16_t word2 __attribute__((aligned(1), may_alias));

/* Everything is read before anything is written, from both ends: the words overlap in the middle. */
#define COPY_ENDS(type, t, f, n)                                                    \
	do {                                                                        \
		type first = *(const type *)(f);                                    \
		type last = *(const type *)((f) + (n) - sizeof(type));              \
		*(type *)(t) = first;                                               \
		*(type *)((t) + (n) - sizeof(type)) = last;                         \
	} while (0)

/* n is at most 16 */
static inline void copy_short(char *t, const char *f, size_t n)
{
	if (n >= 8)
		COPY_ENDS(word8, t, f, n);
	else if (n >= 4)
		COPY_ENDS(word4, t, f, n);
	else if (n >= 2)
		COPY_ENDS(word2, t, f, n);
	else if (n)
		*t = *f;
}

struct block {
	word16 word[4];
};

static inline struct block load(const char *from)
{
	const word16 *f = (const word16 *)from;

	return (struct block){ { f[0], f[1], f[2], f[3] } };
}

static inline void store(char *to, struct block block)
{
	word16 *t = (word16 *)to;

	t[0] = block.word[0];
	t[1] = block.word[1];
	t[2] = block.word[2];
	t[3] = block.word[3];
}

/* Whether 32-byte words may be used: 0 is not known yet. Threads that find out at the same time find the same. */
static enum { UNKNOWN, WIDE, NARROW } width;

/* CPUID has AVX, and the kernel saves its registers. Of leaf 1: 14.3 of Intel's manual, volume 1. */
static bool processor_is_wide(void)
{
	enum { OSXSAVE_AND_AVX = 3 << 27, SSE_AND_AVX_STATE = 6 };
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & OSXSAVE_AND_AVX) != OSXSAVE_AND_AVX)
		return false;
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	return (a & SSE_AND_AVX_STATE) == SSE_AND_AVX_STATE;
}

static __attribute__((noinline)) bool find_width(void)
{
	const bool wide = processor_is_wide();

	__atomic_store_n(&width, wide ? WIDE : NARROW, __ATOMIC_RELAXED);
	return wide;
}

static inline bool is_wide(void)
{
	const unsigned known = __atomic_load_n(&width, __ATOMIC_RELAXED);

	return known == WIDE || (known == UNKNOWN && find_width());
}

/* n is above 64 and at most 128: everything is read before anything is written. */
static inline void copy_two_blocks(char *t, const char *f, size_t n)
{
	const struct block first = load(f), last = load(f + n - sizeof(last));

	store(t, first);
	store(t + n - sizeof(last), last);
}

/* n is at least 128; `to` does not begin within `from`. */
static __attribute__((noinline, target("avx"))) void copy_wide(char *t, const char *f, size_t n)
{
	enum { STEP = 4 * sizeof(word32) };
	const word32 *last = (const word32 *)(f + n - STEP);
	const word32 e = last[0], g = last[1], h = last[2], i = last[3];
	char *end = t + n - STEP;

	for (; t < end; t += STEP, f += STEP) {
		const word32 *from = (const word32 *)f;
		const word32 a = from[0], b = from[1], c = from[2], d = from[3];
		word32 *to = (word32 *)t;

		to[0] = a;
		to[1] = b;
		to[2] = c;
		to[3] = d;
	}
	((word32 *)end)[0] = e;
	((word32 *)end)[1] = g;
	((word32 *)end)[2] = h;
	((word32 *)end)[3] = i;
}

void *memmove(void *to, const void *from, size_t n)
{
	enum { BLOCK = sizeof(struct block), WIDE_FROM = 256 };
	char *t = to;
	const char *f = from;

	if (n <= 16) {
		copy_short(t, f, n);
	} else if (n <= 32) {
		COPY_ENDS(word16, t, f, n);
	} else if (n <= BLOCK) {
		word16 a = ((const word16 *)f)[0], b = ((const word16 *)f)[1];
		word16 c = ((const word16 *)(f + n))[-2], d = ((const word16 *)(f + n))[-1];

		((word16 *)t)[0] = a;
		((word16 *)t)[1] = b;
		((word16 *)(t + n))[-2] = c;
		((word16 *)(t + n))[-1] = d;
	} else if (n <= 2 * BLOCK) {
		copy_two_blocks(t, f, n);
	} else if ((size_t)(t - f) >= n && n >= WIDE_FROM && is_wide()) {
		copy_wide(t, f, n);
	} else if ((size_t)(t - f) >= n) { /* `to` does not begin within `from` */
		struct block last = load(f + n - BLOCK);
		char *end = t + n - BLOCK;

		for (; t < end; t += BLOCK, f += BLOCK)
			store(t, load(f));
		store(end, last);
	} else {
		struct block first = load(f);
		size_t left = n;

		for (; left > BLOCK; left -= BLOCK)
			store(t + left - BLOCK, load(f + left - BLOCK));
		store(t, first);
	}
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) __attribute__((alias("memmove")));
