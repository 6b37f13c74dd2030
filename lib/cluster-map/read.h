/* SPDX-License-Identifier: BSD-2-Clause */
/* The one reader of cluster maps (docs/cluster-map.md): the loader and the host's tool have the same. */
#pragma once

#include <skerry/cluster_map.h>

#include <skerry/error_message.h>

/*
 * Reads a devicetree of `size` bytes, aligned to 8, and checks all of it that
 * needs no machine. False: `err` names the culprit, and `map` is not to be used.
 * One call at a time: it has memory of its own that is too large for a stack.
 */
bool cluster_map_read(struct cluster_map *map, const void *blob, uint64_t size, struct error_message *err);
