/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) of a message of 12 bytes: nobody
 * without the key can predict the hash of one message from the hashes of others.
 */
#pragma once

#include <stdint.h>

struct siphash_state {
	uint64_t a, b, c, d;
};

static inline uint64_t siphash_rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }

static inline void siphash_rounds(struct siphash_state *s, int count)
{
	for (int i = 0; i < count; i++) {
		s->a += s->b;
		s->c += s->d;
		s->b = siphash_rotate(s->b, 13) ^ s->a;
		s->d = siphash_rotate(s->d, 16) ^ s->c;
		s->a = siphash_rotate(s->a, 32);
		s->c += s->b;
		s->a += s->d;
		s->b = siphash_rotate(s->b, 17) ^ s->c;
		s->d = siphash_rotate(s->d, 21) ^ s->a;
		s->c = siphash_rotate(s->c, 32);
	}
}

static inline void siphash_block(struct siphash_state *s, uint64_t block)
{
	s->d ^= block;
	siphash_rounds(s, 2);
	s->a ^= block;
}

/* `first` and `second` are the message's bytes, little-endian. */
static inline uint64_t siphash_12(const uint64_t key[2], uint64_t first, uint32_t second)
{
	struct siphash_state s = {
		.a = key[0] ^ 0x736f6d6570736575, .b = key[1] ^ 0x646f72616e646f6d,
		.c = key[0] ^ 0x6c7967656e657261, .d = key[1] ^ 0x7465646279746573,
	};

	siphash_block(&s, first);
	siphash_block(&s, second | (uint64_t)12 << 56);
	s.c ^= 0xff;
	siphash_rounds(&s, 4);
	return s.a ^ s.b ^ s.c ^ s.d;
}
