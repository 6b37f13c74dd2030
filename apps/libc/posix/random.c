/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random bytes: the ChaCha20 block function (RFC 8439, 2.3) over the process's
 * seed, with fast key erasure: the first half of each output block becomes the
 * next key, so that what was given out cannot be computed afterwards.
 */
#include <string.h>
#include <skerry/process.h>
#include "family.h"
#include "layer.h"
#include "platform.h"

static uint32_t key[8];
#ifdef LAYER_FAMILY
static bool seeded;

void random_forked(void) { seeded = false; } /* the manager gives each process a seed of its own */

void random_seed(const uint8_t seed[32])
{
	memcpy(key, seed, sizeof(key));
	seeded = true;
}
#endif

static inline uint32_t rotate_left(uint32_t x, int n) { return x << n | x >> (32 - n); }

static inline void quarter_round(uint32_t *x, int a, int b, int c, int d)
{
	x[a] += x[b]; x[d] = rotate_left(x[d] ^ x[a], 16);
	x[c] += x[d]; x[b] = rotate_left(x[b] ^ x[c], 12);
	x[a] += x[b]; x[d] = rotate_left(x[d] ^ x[a], 8);
	x[c] += x[d]; x[b] = rotate_left(x[b] ^ x[c], 7);
}

static void chacha_block(uint32_t out[16])
{
	uint64_t now = clock_cycles();
	uint32_t in[16] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };

	memcpy(in + 4, key, sizeof(key));
	in[14] = (uint32_t)now; /* the nonce: harmless when known, helpful when the seed was not fresh */
	in[15] = (uint32_t)(now >> 32);
	memcpy(out, in, sizeof(in));
	for (int round = 0; round < 10; round++) {
		quarter_round(out, 0, 4, 8, 12);
		quarter_round(out, 1, 5, 9, 13);
		quarter_round(out, 2, 6, 10, 14);
		quarter_round(out, 3, 7, 11, 15);
		quarter_round(out, 0, 5, 10, 15);
		quarter_round(out, 1, 6, 11, 12);
		quarter_round(out, 2, 7, 8, 13);
		quarter_round(out, 3, 4, 9, 14);
	}
	for (int i = 0; i < 16; i++)
		out[i] += in[i];
}

void random_bytes(void *buffer, size_t size)
{
#ifndef LAYER_FAMILY
	static bool seeded;
#endif
	uint32_t out[16];
	char *to = buffer;

	if (!seeded) {
		memcpy(key, platform_info()->random, sizeof(key));
		seeded = true;
	}
	while (size) {
		size_t n = size < 32 ? size : 32;
		chacha_block(out);
		memcpy(key, out, sizeof(key));
		memcpy(to, out + 8, n);
		to += n;
		size -= n;
	}
}

long sys_getrandom(const long *a)
{
	random_bytes((void *)a[0], (size_t)a[1]);
	return a[1];
}
