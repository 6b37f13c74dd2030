/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's arguments in the cluster map: `args` of its application. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/cluster_map.h>

extern const char program_name[];

/*
 * To be called first: sets up priority, output and memory, and has the kernel take the granularity that the map says.
 * Returns the map; its mapping stays.
 */
const struct cluster_map *experiment_begin(void);

/* Null when there is none of this number. */
const char *argument(const struct cluster_map *map, unsigned number);
uint64_t argument_number(const struct cluster_map *map, unsigned number, uint64_t otherwise);
/* Reads numbers separated by commas into `values`, followed by a 0. Returns false unless there are 1 to `most`, none of
 * them 0. */
bool argument_list(const struct cluster_map *map, unsigned number, uint32_t *values, unsigned most);
