/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster map as the loader hands it over. */
#pragma once

#include <skerry/cluster_map.h>
#include "root.h"

extern const struct cluster_map *map;

/* Takes the map that lies there for good; panics where there is none of this version. */
void map_init(const struct cluster_map *map, size_t size);

/* Returns whether this manager drives the run. */
static inline bool is_primary(void) { return ROOT->cluster == map->primary; }

/* Index of an application, or MAP_NONE. The name need not be terminated. */
int map_find(const struct cluster_map *map, const char *name, size_t length);
