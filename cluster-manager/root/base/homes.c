/* SPDX-License-Identifier: BSD-2-Clause */
#include "homes.h"
#include <skerry/cluster_mask.h>
#include <skerry/stubs.h>
#include "map.h"

uint32_t home_of(uint32_t core)
{
	const struct map_cluster *own = map_cluster(map, ROOT->cluster);
	uint32_t mask = MASK_ALL;
	if (!own->homed || core >= own->cpu_count)
		return mask;
	for (uint32_t i = 0; i < own->cpu_count; i++)
		if (map->cpu[own->cpu[i]].node == map->cpu[own->cpu[core]].node)
			mask = mask == MASK_ALL ? mask_of(i) : mask_join(mask, mask_of(i));
	return mask;
}

int home_set(uint64_t cnode, uint64_t slot, uint32_t core)
{
	uint32_t mask = home_of(core);
	if (mask == MASK_ALL)
		return 0;
	int error = cnode_set_locality(cnode, slot, mask);
	/* the node's first core is another cluster's now: it would be the home */
	return error == -SKERRY_BAD_ARGUMENT ? cnode_set_locality(cnode, slot, mask_of(core)) : error;
}
