/* SPDX-License-Identifier: BSD-2-Clause */
/* The one reader of cluster maps (docs/cluster-map.md): the loader and the host's tool have the same. */
#pragma once

#include <stdint.h>

#include <skerry/cluster_map.h>
#include <skerry/error_message.h>

/*
 * Reads a devicetree of `size` bytes, aligned to 8, and checks all of it that
 * needs no machine. False: `err` names the culprit, and `map` is not to be used.
 * One call at a time: it has memory of its own that is too large for a stack.
 */
bool cluster_map_read(struct cluster_map *map, const void *blob, uint64_t size, struct error_message *err);

/*
 * Returns whether there is nothing in a devicetree but what docs/cluster-map.md names, in its form: the tool asks for
 * more than the loader does. The caller has made `map` of it with cluster_map_read().
 */
bool check_form(const struct cluster_map *map, const void *fdt, struct error_message *err);

/*
 * Reads a devicetree of `size` bytes. Returns one JSON object, which is there until the next call; one call at a time.
 * Of a good map it is the map, in the words of topology/maps/clustermap.py. Else it has one member, "error": an object
 * with the strings "text" (one line), "node", "property" (what it is about), "cause", "cause_property" (what is to be
 * changed); only the text is always there. Each character of a string is one byte.
 */
const char *cluster_map_json(const void *blob, uint64_t size);
