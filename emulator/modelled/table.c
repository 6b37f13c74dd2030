/* SPDX-License-Identifier: BSD-2-Clause */
#include "table.h"
#include <stdio.h>
#include <stdlib.h>
#include <skerry/require.h>

enum { FIRST_SLOTS = 1 << 12 };

void *allocate(size_t size)
{
	void *made = calloc(1, size);
	if (!made) {
		fputs("modelled: out of memory\n", stderr);
		abort();
	}
	return made;
}

static uint64_t number_of(const void *record) { return *(const uint64_t *)record; }

/* Where the record is, or belongs. */
static void **record_place(const struct table *table, uint64_t number)
{
	uint64_t at = (number * 0x9e3779b97f4a7c15) >> 20 & (table->slots - 1);
	while (table->slot[at] && number_of(table->slot[at]) != number)
		at = (at + 1) & (table->slots - 1);
	return &table->slot[at];
}

void table_make(struct table *table)
{
	*table = (struct table){ .slots = FIRST_SLOTS, .slot = allocate(FIRST_SLOTS * sizeof(*table->slot)) };
}

void *table_find(const struct table *table, uint64_t number) { return *record_place(table, number); }

static void table_grow(struct table *table)
{
	const struct table old = *table;
	table->slots *= 2;
	table->slot = allocate(table->slots * sizeof(*table->slot));
	for (uint64_t i = 0; i < old.slots; i++)
		if (old.slot[i])
			*record_place(table, number_of(old.slot[i])) = old.slot[i];
	free(old.slot);
}

void *table_add(struct table *table, uint64_t number, size_t size)
{
	require(size >= sizeof(number));
	void *entry = table_find(table, number);
	if (entry)
		return entry;
	if (table->used * 2 >= table->slots)
		table_grow(table);
	uint64_t *fresh = allocate(size);
	*fresh = number;
	table->used++;
	return *record_place(table, number) = fresh;
}

void **table_sorted(const struct table *table, int (*compare)(const void *, const void *))
{
	void **sorted = allocate((table->used + 1) * sizeof(*sorted));
	uint64_t count = 0;
	for (uint64_t i = 0; i < table->slots; i++)
		if (table->slot[i])
			sorted[count++] = table->slot[i];
	require(count == table->used);
	qsort(sorted, count, sizeof(*sorted), compare);
	return sorted;
}

void table_clear(struct table *table, void (*drop)(void *record))
{
	for (uint64_t i = 0; i < table->slots; i++) {
		if (table->slot[i] && drop)
			drop(table->slot[i]);
		free(table->slot[i]);
		table->slot[i] = NULL;
	}
	table->used = 0;
}

void table_free(struct table *table, void (*drop)(void *record))
{
	table_clear(table, drop);
	free(table->slot);
	*table = (struct table){ 0 };
}
