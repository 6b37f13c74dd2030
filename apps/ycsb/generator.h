/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which record an operation touches, as YCSB chooses it: a zipfian rank after
 * Gray et al. 1994 ("Quickly generating billion-record synthetic databases"),
 * scrambled by FNV so that popular records lie anywhere in the table.
 */
#pragma once

#include <stdint.h>

/* splitmix64: small, fast, and passes BigCrush. */
struct random {
	uint64_t state;
};

uint64_t random_next(struct random *r);
double random_unit(struct random *r); /* uniform in [0, 1) */

double random_exponential(struct random *r, double mean);

/* splitmix64's finalizer: a bijection. */
static inline uint64_t random_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* FNV-1a over the eight bytes of `value`, least significant first; YCSB's hash() is its absolute value. */
uint64_t fnv64(uint64_t value);
uint64_t ycsb_hash(uint64_t value);

struct zipfian {
	uint64_t items;
	double theta; /* the zipfian constant */
	double zetan; /* sum of 1/i^theta, i = 1..items */
	double alpha;
	double eta;
	double second; /* u * zetan below this: rank 1 */
};

double zipfian_zeta(uint64_t items, double theta);
void zipfian_init(struct zipfian *z, uint64_t items, double theta, double zetan);
uint64_t zipfian_rank(const struct zipfian *z, double u); /* 0 is the most popular; u in [0, 1) */

/* YCSB's ScrambledZipfianGenerator draws from ten billion and one ranks whatever the size of the table. */
#define SCRAMBLED_ITEMS 10000000001ull
#define SCRAMBLED_THETA 0.99
#define SCRAMBLED_ZETAN 26.46902820178302

void scrambled_init(struct zipfian *z);
uint64_t scrambled_record(const struct zipfian *z, struct random *r, uint64_t records);
