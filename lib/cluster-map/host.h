/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether a devicetree of `size` bytes is a good map. False: `out`, of `room` bytes, has one JSON object with the strings
 * "text" (one line), "node", "property" (what it is about), "cause", "cause_property" (what is to be changed); a string is
 * empty where there is no such thing. CLUSTER_MAP_ROOM is enough. One call at a time.
 */
enum { CLUSTER_MAP_ROOM = 4096 };
bool cluster_map_check(const void *blob, uint64_t size, char *out, uint64_t room);
