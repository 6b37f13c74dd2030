/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "read.h"

/*
 * Returns whether there is nothing in a devicetree but what docs/cluster-map.md names, in its form: the tool asks for
 * more than the loader does. The caller has made `map` of it with cluster_map_read().
 */
bool check_form(const struct cluster_map *map, const void *fdt, struct error_message *err);
