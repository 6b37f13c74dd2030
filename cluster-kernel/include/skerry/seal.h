/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The seal of a console line: the BLAKE2s digest (RFC 7693, 96 bits, no key) of the line from its mark on, in letters
 * that no program can write. Hazard: bytes of several writers interleave on one port, so that a program's text lands
 * between the mark and the end of somebody else's line. A reader believes a line only where the seal is that of all
 * that it has read of it; a program would need a second preimage of a digest that was written for another line.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SEAL_BYTES = 12, SEAL_SIZE = SEAL_BYTES * 8 / 3, SEAL_BLOCK = 64 };

/* Control characters that terminals and readers of lines ignore: DLE, DC2, DC4, NAK, SYN, ETB, EM, US. Three bits
 * each. */
#define SEAL_LETTERS "\x10\x12\x14\x15\x16\x17\x19\x1f"

struct seal {
	uint32_t state[8];
	uint32_t done; /* bytes that are in `state` */
	uint32_t used; /* bytes of `block` */
	uint8_t block[SEAL_BLOCK];
};

static const uint32_t seal_start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                                        0x1f83d9ab, 0x5be0cd19 };

static inline uint32_t seal_rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

/* RFC 7693, 3.1. */
static inline void seal_mix(uint32_t *v, unsigned a, unsigned b, unsigned c, unsigned d, uint32_t x, uint32_t y)
{
	v[a] += v[b] + x;
	v[d] = seal_rotate(v[d] ^ v[a], 16);
	v[c] += v[d];
	v[b] = seal_rotate(v[b] ^ v[c], 12);
	v[a] += v[b] + y;
	v[d] = seal_rotate(v[d] ^ v[a], 8);
	v[c] += v[d];
	v[b] = seal_rotate(v[b] ^ v[c], 7);
}

/* RFC 7693, 3.2. */
static inline void seal_compress(struct seal *seal, uint32_t is_last)
{
	static const uint8_t order[10][16] = {
		{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
		{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
		{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
		{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
		{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
		{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
		{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
		{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
		{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
		{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
	};
	uint32_t v[16], m[16];
	for (unsigned i = 0; i < 8; i++) {
		v[i] = seal->state[i];
		v[i + 8] = seal_start[i];
	}
	v[12] ^= seal->done;
	v[14] ^= 0 - is_last;
	for (unsigned i = 0; i < 16; i++)
		m[i] = seal->block[4 * i] | (uint32_t)seal->block[4 * i + 1] << 8 |
		       (uint32_t)seal->block[4 * i + 2] << 16 |
		       (uint32_t)seal->block[4 * i + 3] << 24;
	for (unsigned i = 0; i < 10; i++) {
		const uint8_t *s = order[i];
		for (unsigned j = 0; j < 4; j++)
			seal_mix(v, j, j + 4, j + 8, j + 12, m[s[2 * j]], m[s[2 * j + 1]]);
		for (unsigned j = 0; j < 4; j++)
			seal_mix(v, j, 4 + (j + 1) % 4, 8 + (j + 2) % 4, 12 + (j + 3) % 4, m[s[8 + 2 * j]],
			         m[s[9 + 2 * j]]);
	}
	for (unsigned i = 0; i < 8; i++)
		seal->state[i] ^= v[i] ^ v[i + 8];
}

/* Adds a byte of the line. */
static inline void seal_add(struct seal *seal, char byte)
{
	if (seal->used == SEAL_BLOCK) { /* kept until another byte comes: the last block is compressed as that */
		seal->done += SEAL_BLOCK;
		seal_compress(seal, 0);
		seal->used = 0;
	}
	seal->block[seal->used++] = (uint8_t)byte;
}

/* Begins the seal of a line with this mark: CONSOLE_MANAGER or CONSOLE_KERNEL. */
static inline void seal_begin(struct seal *seal, char mark)
{
	for (unsigned i = 0; i < 8; i++)
		seal->state[i] = seal_start[i];
	seal->state[0] ^= 0x01010000 ^ SEAL_BYTES; /* RFC 7693, 2.5: depth 1, fan-out 1, no key */
	seal->done = seal->used = 0;
	seal_add(seal, mark);
}

/* Returns the letters of the seal; the line's end follows them. */
static inline void seal_end(struct seal *seal, char letters[SEAL_SIZE])
{
	seal->done += seal->used;
	while (seal->used < SEAL_BLOCK)
		seal->block[seal->used++] = 0;
	seal_compress(seal, 1);
	for (unsigned i = 0; i < SEAL_SIZE; i++) {
		uint32_t bits = 0;
		for (unsigned j = 0; j < 3; j++)
			bits |= (seal->state[(3 * i + j) / 32] >> (3 * i + j) % 32 & 1) << j;
		letters[i] = SEAL_LETTERS[bits];
	}
}
