/* SPDX-License-Identifier: BSD-2-Clause */
/* Which cores a program's objects are at home on, by the nodes of the map. */
#include <skerry/cluster_mask.h>
#include <skerry/stubs.h>
#include "root.h"
#include "test-check.h"

static struct root_info root_info;
#undef ROOT
#define ROOT (&root_info)

static unsigned asked;
static uint32_t asked_mask;
static uint32_t left = UINT32_MAX >> 1; /* a core that no mask with it is allowed for */

static int set_locality(uint64_t cnode, uint64_t slot, uint32_t mask)
{
	CHECK(cnode == 9 && slot == 11);
	asked++;
	asked_mask = mask;
	return mask_has(mask, left) ? -SKERRY_BAD_ARGUMENT : -SKERRY_BAD_CAP;
}

#define cnode_set_locality(cnode, slot, mask) set_locality(cnode, slot, mask)
#include "homes.c"

static struct cluster_map own_map;
const struct cluster_map *map = &own_map;

enum { CORES = 28, IN_NODE = 14, FIRST = 3 }; /* the cluster's cores are not the map's first */

static void place(bool homed)
{
	struct map_cluster *cluster = &own_map.cluster[1];
	own_map.cluster_count = 2;
	own_map.cluster[0].number = 0;
	own_map.cpu_count = FIRST + CORES;
	cluster->number = root_info.cluster = 1;
	cluster->homed = homed;
	cluster->cpu_count = CORES;
	for (uint32_t i = 0; i < CORES; i++) {
		cluster->cpu[i] = FIRST + i;
		own_map.cpu[FIRST + i].node = i / IN_NODE;
	}
}

static void two_nodes(void)
{
	place(true);
	for (uint32_t core = 0; core < CORES; core++)
		for (uint32_t other = 0; other < CORES; other++)
			CHECK(mask_has(home_of(core), other) == (core / IN_NODE == other / IN_NODE));
	CHECK(home_of(CORES) == MASK_ALL); /* none of its cores */
	CHECK(home_set(9, 11, IN_NODE) == -SKERRY_BAD_CAP && asked == 1 && asked_mask == home_of(IN_NODE));
}

/* The node's first core has moved to another cluster: objects are at home where the program runs. */
static void first_has_left(void)
{
	place(true);
	asked = 0;
	left = IN_NODE;
	CHECK(home_set(9, 11, IN_NODE + 3) == -SKERRY_BAD_CAP && asked == 2 && asked_mask == mask_of(IN_NODE + 3));
	CHECK(home_set(9, 11, 3) == -SKERRY_BAD_CAP && asked == 3 && asked_mask == home_of(3));
	left = UINT32_MAX >> 1;
}

/* Nothing is asked of a kernel that may have no localities. */
static void no_homes(void)
{
	place(false);
	asked = 0;
	for (uint32_t core = 0; core < CORES; core++)
		CHECK(home_of(core) == MASK_ALL && home_set(9, 11, core) == 0);
	CHECK(!asked);
}

int main(void)
{
	two_nodes();
	first_has_left();
	no_homes();
	return failures != 0;
}
