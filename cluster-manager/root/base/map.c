/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "map.h"

const struct cluster_map *map;

void map_init(const struct cluster_map *m, size_t size)
{
	map = m;
	if (!map_is_valid(map, size))
		manager_panic("the loader's cluster map is not of version %u", MAP_VERSION);
}

int map_find(const struct cluster_map *m, const char *name, size_t length)
{
	for (uint32_t i = 0; i < m->application_count; i++)
		if (strlen(m->application[i].name) == length && !memcmp(m->application[i].name, name, length))
			return (int)i;
	return MAP_NONE;
}
