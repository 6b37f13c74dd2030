/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * Reads a devicetree of `size` bytes. Returns one JSON object, which is there until the next call; one call at a time.
 * Of a good map it is the map, in the words of topology/maps/clustermap.py. Else it has one member, "error": an object
 * with the strings "text" (one line), "node", "property" (what it is about), "cause", "cause_property" (what is to be
 * changed); only the text is always there. Each character of a string is one byte.
 */
const char *cluster_map_json(const void *blob, uint64_t size);
