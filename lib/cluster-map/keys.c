/* SPDX-License-Identifier: BSD-2-Clause */
/* Applications by what only one of them may have: tables of open addressing, half full at most. */
#include <string.h>

#include "draft.h"

/* FNV-1a. */
static uint32_t hash(const uint8_t *bytes, uint32_t size)
{
	uint32_t sum = 2166136261u;

	for (uint32_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

/* Returns the table's entry for the key, which is 0 if no application has it. */
static uint32_t place_of(const struct cluster_map *map, const struct key_table *table, const void *key)
{
	uint32_t at = hash(key, table->size) % KEY_PLACES;

	while (table->at[at] != 0 &&
	       memcmp((const char *)&map->application[table->at[at] - 1] + table->offset, key, table->size) != 0)
		at = (at + 1) % KEY_PLACES;
	return at;
}

int key_find(const struct cluster_map *map, const struct key_table *table, const void *key)
{
	return (int)table->at[place_of(map, table, key)] - 1;
}

const struct map_application *key_enter(const struct cluster_map *map, struct key_table *table, uint32_t index)
{
	const struct map_application *a = &map->application[index];
	const uint32_t at = place_of(map, table, (const char *)a + table->offset);

	if (table->at[at] != 0)
		return &map->application[table->at[at] - 1];
	table->at[at] = (uint16_t)(index + 1);
	return NULL;
}
