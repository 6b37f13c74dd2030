/* SPDX-License-Identifier: BSD-2-Clause */
/* A run draws and records these: records and operations, arrivals, values that prove themselves, answers over time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which record an operation touches, as YCSB chooses it: a zipfian rank after
 * Gray et al. 1994 ("Quickly generating billion-record synthetic databases"),
 * scrambled by FNV so that popular records lie anywhere in the table.
 */

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

/*
 * The schedule of an open loop (--rate): when each operation is to arrive, whether the client is ready for it or not. A
 * latency that begins there includes the wait behind operations that were late, which a closed loop leaves out
 * (coordinated omission).
 */

struct arrivals {
	struct random random;
	uint64_t start_ns;
	double interval_ns; /* the mean */
	double offset_ns;   /* of the last arrival, from start_ns on: no error grows */
	bool even;
};

/* `rate`: a second, above 0. The same `seed` gives the same schedule. Evenly spaced arrivals begin within their first
 * interval, so that those of several clients do not coincide; others are a Poisson process. */
void arrivals_init(struct arrivals *a, uint64_t start_ns, uint64_t rate, bool even, uint64_t seed);

/* Returns the next arrival, on the clock of start_ns. */
uint64_t arrivals_next(struct arrivals *a);

/*
 * Records in which each value proves itself. A field's value is a stamp (its writer, and that client's sequence number)
 * in 16 hexadecimal digits, followed by characters that only this record, field and stamp give. So any client can check
 * any value without knowing the last writer: a value of another record or field, a mixture of two, or a damaged one
 * does not pass.
 *
 * Age is checked as well, by what this client has already seen of the field: a server with one copy never shows an
 * older value of the same writer again, nor the loaded one after an update.
 */

enum { STAMP_DIGITS = 16, KEY_SIZE = 32, FIELD_NAME_SIZE = 16, WRITER_SHIFT = 52 };

/* Writer in the upper 12 bits (0: the loader), sequence below. */
#define STAMP_LOADED 0ull
#define STAMP_UNSEEN UINT64_MAX
uint64_t stamp_make(unsigned writer, uint64_t sequence);

/* `number` in decimal digits; no terminating zero. Returns how many, at most 20. */
size_t decimal(char *to, uint64_t number);

/* "user" and YCSB's hash of the record's number. Returns the length. */
size_t record_key(char key[KEY_SIZE], uint64_t record);

/* length >= 24; no terminating zero is written. */
void record_value(char *value, size_t length, uint64_t record, unsigned field, uint64_t stamp);

/* True when it is a value that some writer made for this field; `*stamp` is then its stamp. */
bool record_check(const char *value, size_t length, size_t expected_length, uint64_t record, unsigned field,
		  uint64_t *stamp);

/* May `stamp` follow `seen` (the last of this field that was seen or written)? */
bool stamp_may_follow(uint64_t stamp, uint64_t seen);

/* How many operations were answered in each slot of a run's time. Slots become twice as long when they run out. */

enum { TIMELINE_SLOTS = 512, TIMELINE_SLOT_NS = 10000000 };

struct timeline {
	uint64_t start_ns, slot_ns;
	uint32_t count[TIMELINE_SLOTS];
	unsigned used; /* slots, up to the last answer */
};

void timeline_init(struct timeline *t, uint64_t start_ns);
/* Times do not go back. */
void timeline_add(struct timeline *t, uint64_t now_ns);
