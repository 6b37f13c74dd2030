/* SPDX-License-Identifier: BSD-2-Clause */
#include "draw-localities.h"
#include <skerry/cluster_mask.h>
#include <skerry/root_info.h>
#include "locality.h"
#include LOCKING_HEADER

void draw_localities(struct hosted *machine, uint64_t *seed)
{
	for (unsigned i = 0; objects_have_homes() && i < 1u << ROOT_CNODE_BITS; i++) {
		const struct cap *cap = &machine->root_cnode[i].cap;
		if (cap->type != OBJECT_ENDPOINT && cap->type != OBJECT_NOTIFICATION && cap->type != OBJECT_REPLY)
			continue;
		*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
		unsigned drawn = *seed >> 48;
		if (drawn & 1)
			locality_set(&machine->kernel, cap,
			             (drawn & 6) == 0 ? MASK_ALL : (drawn & 6) == 2 ? mask_make(0, 0, drawn >> 3)
			                                                             : mask_of((drawn >> 3) % machine->config.cores));
	}
}
