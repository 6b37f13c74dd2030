/* SPDX-License-Identifier: BSD-2-Clause */
/* Mutations for libFuzzer that know what a record is. */
#include <string.h>
#include "random.h"

enum { HEADER = 1 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static uint32_t state;

static size_t below(size_t count)
{
	state = state * 1664525u + 1013904223u;
	return count ? (state >> 8) % count : 0;
}

static uint8_t *record_at(uint8_t *data, size_t index) { return data + HEADER + index * RECORD_SIZE; }

/* Room for `count` records before `index`, of `records` that there are. */
static void open_gap(uint8_t *data, size_t records, size_t index, size_t count)
{
	memmove(record_at(data, index + count), record_at(data, index), (records - index) * RECORD_SIZE);
}

static void change_byte(uint8_t *record)
{
	size_t i = below(4) ? RECORD_OPERANDS + below(RECORD_SIZE - RECORD_OPERANDS) : below(RECORD_OPERANDS);
	record[i] = below(2) ? record[i] + below(9) - 4 : below(256);
}

static void fill(uint8_t *record)
{
	for (unsigned i = 0; i < RECORD_SIZE; i++)
		record[i] = below(256);
}

/* Returns how many records there are then. */
static size_t mutate_once(uint8_t *data, size_t records, size_t max)
{
	size_t index = below(records), count = 1 + below(records - index < 8 ? records - index : 8);
	uint8_t *record = record_at(data, index);
	switch (below(records ? 10 : 1)) {
	case 0: /* a new one */
	case 1:
		if (records == max)
			return records;
		open_gap(data, records, index, 1);
		fill(record);
		return records + 1;
	case 2: /* some go */
		memmove(record, record_at(data, index + count), (records - index - count) * RECORD_SIZE);
		return records - count;
	case 3: { /* some again, later */
		size_t to = index + count + below(records - index - count + 1);
		if (records + count > max)
			return records;
		open_gap(data, records, to, count);
		memcpy(record_at(data, to), record, count * RECORD_SIZE);
		return records + count;
	}
	case 4: { /* two change places */
		uint8_t kept[RECORD_SIZE], *other = record_at(data, below(records));
		memcpy(kept, record, RECORD_SIZE);
		memcpy(record, other, RECORD_SIZE);
		memcpy(other, kept, RECORD_SIZE);
		return records;
	}
	case 5: record[RECORD_CORE] ^= OPERATION_HOLD; return records;
	case 6: LLVMFuzzerMutate(record, RECORD_SIZE, RECORD_SIZE); return records;
	default: change_byte(record); return records;
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	if (max_size < HEADER + RECORD_SIZE)
		return size;
	size_t records = size > HEADER ? (size - HEADER) / RECORD_SIZE : 0, max = (max_size - HEADER) / RECORD_SIZE;
	state = seed;
	if (!size || !below(64))
		data[0] = below(256);
	for (size_t times = 1 + below(4); times; times--)
		records = mutate_once(data, records, max);
	return HEADER + records * RECORD_SIZE;
}

/* The beginning of one, the end of the other. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t size_a, const uint8_t *b, size_t size_b, uint8_t *out,
                                 size_t max_size, unsigned seed)
{
	if (!size_a || !size_b || !max_size)
		return 0;
	state = seed;
	size_t from_a = HEADER + below((size_a - HEADER) / RECORD_SIZE + 1) * RECORD_SIZE;
	size_t skip_b = HEADER + below((size_b - HEADER) / RECORD_SIZE + 1) * RECORD_SIZE;
	size_t from_b = size_b - skip_b;
	if (from_a > max_size)
		from_a = max_size;
	if (from_b > max_size - from_a)
		from_b = max_size - from_a;
	memcpy(out, a, from_a);
	memcpy(out + from_a, b + skip_b, from_b);
	return from_a + from_b;
}
