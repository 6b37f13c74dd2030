/* SPDX-License-Identifier: BSD-2-Clause */
/* Records by a number: open addressing, never more than half full. A record begins with its number, a uint64_t. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct table {
	void **slot;
	uint64_t slots, used; /* slots: a power of two */
};

/* Zeroed. Ends the emulator where there is no memory. */
void *allocate(size_t size);

void table_make(struct table *table);
/* Null where there is none. */
void *table_find(const struct table *table, uint64_t number);
/* The record with this number; if there is none, a new one of `size` bytes, zero but for the number. */
void *table_add(struct table *table, uint64_t number, size_t size);
/* All records, ordered as by qsort(). The caller frees the array, of `used` records and a null pointer. */
void **table_sorted(const struct table *table, int (*compare)(const void *, const void *));
/* Frees all records; `drop`, if it is not null, frees before what a record has beside itself. */
void table_clear(struct table *table, void (*drop)(void *record));
/* Frees what a table holds. */
void table_free(struct table *table, void (*drop)(void *record));
