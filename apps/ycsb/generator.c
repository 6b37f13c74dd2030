/* SPDX-License-Identifier: BSD-2-Clause */
#include "workload.h"

#include <math.h>

uint64_t random_next(struct random *r)
{
	return random_mix(r->state += 0x9e3779b97f4a7c15ull);
}

double random_unit(struct random *r)
{
	return (double)(random_next(r) >> 11) * 0x1p-53;
}

double random_exponential(struct random *r, double mean)
{
	return -mean * log1p(-random_unit(r));
}

uint64_t fnv64(uint64_t value)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (int i = 0; i < 8; i++, value >>= 8)
		hash = (hash ^ (value & 0xff)) * 0x100000001b3ull;
	return hash;
}

uint64_t ycsb_hash(uint64_t value)
{
	uint64_t hash = fnv64(value);

	return hash >> 63 ? -hash : hash;
}

double zipfian_zeta(uint64_t items, double theta)
{
	double sum = 0;

	for (uint64_t i = items; i > 0; i--) /* small terms first */
		sum += pow((double)i, -theta);
	return sum;
}

void zipfian_init(struct zipfian *z, uint64_t items, double theta, double zetan)
{
	z->items = items;
	z->theta = theta;
	z->zetan = zetan;
	z->alpha = 1 / (1 - theta);
	z->second = 1 + pow(0.5, theta);
	z->eta = (1 - pow(2.0 / (double)items, 1 - theta)) / (1 - z->second / zetan);
}

uint64_t zipfian_rank(const struct zipfian *z, double u)
{
	double scaled = u * z->zetan;

	if (scaled < 1)
		return 0;
	if (scaled < z->second)
		return 1;
	uint64_t rank = (uint64_t)((double)z->items * pow(z->eta * u - z->eta + 1, z->alpha));
	return rank < z->items ? rank : z->items - 1; /* rounding, u just below 1 */
}

void scrambled_init(struct zipfian *z)
{
	zipfian_init(z, SCRAMBLED_ITEMS, SCRAMBLED_THETA, SCRAMBLED_ZETAN);
}

uint64_t scrambled_record(const struct zipfian *z, struct random *r, uint64_t records)
{
	return ycsb_hash(zipfian_rank(z, random_unit(r))) % records;
}
