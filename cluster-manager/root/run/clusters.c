/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "clusters.h"
#include "map.h"

static char kernel[BOOT_MAX_CLUSTERS][BOOT_NAME_SIZE + 1]; /* in the map's order */

int cluster_place(uint32_t cluster)
{
	const struct map_cluster *c = map_cluster(map, cluster);
	return c ? (int)(c - map->cluster) : -1;
}

const char *cluster_kernel(uint32_t cluster)
{
	int place = cluster_place(cluster);
	return place >= 0 && kernel[place][0] ? kernel[place] : "?";
}

void cluster_kernel_set(uint32_t place, const char *name) { memcpy(kernel[place], name, BOOT_NAME_SIZE); }

uint32_t cluster_cpu(uint32_t cluster, uint32_t core)
{
	const struct map_cluster *c = map_cluster(map, cluster);
	return c && core < c->cpu_count ? c->cpu[core] : 0;
}
