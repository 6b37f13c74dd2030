/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/bell.h>
#include "bells.h"
#include "map.h"
#include "memory.h"
#include "root.h"
#include "vspace.h"

static int frame[MAP_MAX_APPLICATIONS]; /* 0: it has none */

void bell_make(uint32_t application)
{
	frame[application] = memory_frames(OBJECT_FRAME_4K, 1);
	if (frame[application] < 0)
		manager_panic("no memory for the bell word of %s", map->application[application].name);
}

/* The capability is this life's: it goes when the program ends, and the mapping with it. */
static int bell_map(uint32_t of, struct process *process, unsigned page, unsigned rights)
{
	if (!frame[of])
		manager_panic("%s has no bell word", map->application[of].name);
	int copy = slots_copy(frame[of], 1);
	return copy < 0 ? copy : vspace_map(process->vspace, copy, PROCESS_BELLS_VADDR + (uint64_t)page * BELL_SIZE,
	                                    rights,
					    CACHE_WRITE_BACK);
}

int bell_give_own(uint32_t application, struct process *process)
{
	process->memory += BELL_SIZE;
	return bell_map(application, process, PROCESS_BELL_OWN, RIGHT_READ | RIGHT_WRITE);
}

int bell_give(uint32_t peer, struct process *process, unsigned page)
{
	return bell_map(peer, process, page, RIGHT_READ);
}
