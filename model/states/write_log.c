/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"
#include "transaction.h"

enum { RANGES = 6, SET_BITS = 18, SMALL_BITS = 9 }; /* of the set of a transition's words, at load 1/2 */

struct log_entry log_entry[LOG_ENTRIES];
unsigned log_count;

static struct {
	uint64_t start, size;
} range[RANGES];
static unsigned ranges;

void log_range(void *start, size_t size)
{
	require(ranges < RANGES && (uint64_t)start % 8 == 0 && size % 8 == 0);
	range[ranges].start = (uint64_t)start;
	range[ranges++].size = size;
}

bool log_has(const volatile void *address)
{
	unsigned in = 0;
	while (in < ranges && (uint64_t)address - range[in].start >= range[in].size)
		in++;
	return in < ranges;
}

void log_write(const volatile void *address, size_t size)
{
	uint64_t at = (uint64_t)address & ~7ull, end = (uint64_t)address + size;
	if (!log_has((const void *)at))
		return;
	for (; at < end; at += 8) {
		if (log_count == LOG_ENTRIES)
			fail("a path writes more than %u words: this is not a small machine", LOG_ENTRIES);
		log_entry[log_count].at = (uint64_t *)at;
		log_entry[log_count++].before = *(uint64_t *)at;
	}
}

void transaction_writes(void *address, size_t size) { log_write(address, size); }

void log_undo(unsigned count)
{
	require(count <= log_count);
	while (log_count > count) {
		log_count--;
		*log_entry[log_count].at = log_entry[log_count].before;
	}
}

uint64_t log_mix(uint64_t address, uint64_t value)
{
	unsigned __int128 product = (unsigned __int128)(address * 0x9e3779b97f4a7c15ull ^ 0xd6e8feb86659fd93ull) *
	                            (value ^ 0xa0761d6478bd642full);
	uint64_t hash = ((uint64_t)product ^ (uint64_t)(product >> 64)) * 0xff51afd7ed558ccdull;
	return hash ^ hash >> 29;
}

uint64_t log_hash(unsigned count)
{
	static struct {
		uint64_t *at;
		uint32_t stamp;
	} set[1 << SET_BITS];
	static uint32_t stamp;
	uint64_t hash = 0;
	unsigned bits = SMALL_BITS; /* most transitions are small: their part of the set stays in the cache */
	while (bits < SET_BITS && log_count - count > 1u << (bits - 1))
		bits++;
	if (log_count - count > 1u << (bits - 1))
		fail("a transition writes more than %u words", 1u << (SET_BITS - 1));
	const unsigned mask = (1u << bits) - 1;
	stamp++;
	for (unsigned i = count; i < log_count; i++) {
		uint64_t *at = log_entry[i].at;
		unsigned place = ((uint64_t)at * 0x9e3779b97f4a7c15ull) >> (64 - bits);
		while (set[place].stamp == stamp && set[place].at != at)
			place = (place + 1) & mask;
		if (set[place].stamp == stamp)
			continue; /* the first entry of a word has the value that the parent state had */
		set[place].stamp = stamp;
		set[place].at = at;
		if (*at != log_entry[i].before)
			hash += log_mix((uint64_t)at, *at) - log_mix((uint64_t)at, log_entry[i].before);
	}
	return hash;
}

void log_zero(void *at, size_t size)
{
	require(size % 8 == 0);
	for (size_t i = 0; i < size; i += 8)
		log_put((uint8_t *)at + i, 0);
}
