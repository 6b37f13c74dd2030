/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks a cluster map (docs/cluster-map.md) against the machine; lib/cluster-map has checked the rest. */
#pragma once

#include <skerry/cluster_map.h>

#include "machine.h"
#include <skerry/error_message.h>

/* Returns whether this machine, number map->machine of the map, has what the map says of it; else *err says what it
 * lacks. */
bool map_check(const struct cluster_map *map, const struct machine *machine, struct error_message *err);

/* The parts of map_check(), in its order. */
bool map_check_clusters(const struct cluster_map *map, const struct machine *machine, struct error_message *err);
bool map_check_nodes(const struct cluster_map *map, const struct machine *machine, struct error_message *err);
bool map_check_memory(const struct cluster_map *map, const struct machine *machine, struct error_message *err);

/* Checks the labels of the memory nodes of the devicetree, which the map was read from and which has passed
 * map_check(). */
bool map_check_labels(const struct cluster_map *map, const void *blob, const struct machine *machine,
		      struct error_message *err);

/* Prints a line for each node of a map that has passed map_check() which is finer or coarser than the firmware's. */
typedef void map_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void map_say_nodes(const struct cluster_map *map, const struct machine *machine, map_print *print);
/* Prints a line for each node of the map with cores and each domain of these: how many cores, and the domain's RAM.
 * Nothing where the firmware has one domain, which the map calls as it does. */
void map_list_nodes(const struct cluster_map *map, const struct machine *machine, map_print *print);

/* Returns whether the cluster is on the machine that the loader runs on. */
static inline bool map_is_here(const struct cluster_map *map, const struct map_cluster *cluster)
{
	return cluster->machine == map->machine;
}
