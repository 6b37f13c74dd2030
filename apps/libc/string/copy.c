/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memcpy() and memmove() by 16-byte words, in place of musl's, which are
 * `rep movs`: at the sizes that servers copy, its start costs a real core more
 * than the copy, and an emulator runs it word by word.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

void *memmove(void *to, const void *from, size_t n)
{
	enum { BLOCK = sizeof(struct block) };
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
