/* SPDX-License-Identifier: BSD-2-Clause */
/* Long sequences of system calls, faults, interrupts and uses of memory, valid and invalid (operation.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "operation.h"

/* The next record; false: there are no more. */
struct records {
	bool (*next)(struct records *self, uint8_t record[RECORD_SIZE]);
	uint64_t state;      /* of a generator: records_random() */
	const uint8_t *data; /* or what is left of an input */
	size_t size;
};
struct records records_random(uint64_t seed);
struct records records_of(const uint8_t *data, size_t size);

/*
 * Up to `steps` records on a fresh machine whose cores take turns, kernel_check() whenever all are at rest. Returns how
 * many there were: fewer when no thread is left to make calls.
 */
unsigned random_run(struct records *records, unsigned cores, unsigned steps, uint64_t seed);

/* An input of the fuzzer: a byte for the number of cores, at most `cores_max`, and records. */
void random_input(const uint8_t *data, size_t size, unsigned cores_max);
enum { RANDOM_INPUT_STEPS = 400, RANDOM_INPUT_CORES = 3 };

/*
 * About `calls` random system calls, made by all cores at once, each of which is a thread; kernel_check() when they are
 * at rest. Returns how many there were: fewer when no thread is left to make calls.
 */
uint64_t random_threads(unsigned cores, uint64_t calls, uint64_t seed);
