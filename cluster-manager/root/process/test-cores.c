/* SPDX-License-Identifier: BSD-2-Clause */
/* On which cores programs run: one or several of the map's, or one that the cluster has gained. */
#include "root.h"
#include "test-check.h"

static struct root_info root_info;
#undef ROOT
#define ROOT (&root_info)

#include "cores.c"

static struct cluster_map own_map;
const struct cluster_map *map = &own_map;

enum { ONE, WIDE, AWAY, CORES = 6, FIRST = 4, GAINED = 7, CPU = 3 }; /* the cluster's cores are not the map's first */

static void add(uint32_t application, uint32_t cluster, const uint16_t *cores, uint32_t count)
{
	struct map_application *a = &own_map.application[application];
	a->cluster = cluster;
	a->core = cores[0];
	a->cpu = FIRST + cores[0];
	a->cores = (struct map_list){ application * 64, count * (uint32_t)sizeof(*cores) };
	__builtin_memcpy(own_map.pool + a->cores.offset, cores, a->cores.size);
	own_map.application_count = application + 1;
}

static void make_map(void)
{
	struct map_cluster *cluster = &own_map.cluster[1];
	own_map.cluster_count = 2;
	own_map.cluster[0].number = 0;
	cluster->number = root_info.cluster = 1;
	cluster->cpu_count = CORES;
	for (uint32_t i = 0; i < CORES; i++) {
		cluster->cpu[i] = FIRST + i;
		own_map.cpu[FIRST + i].node = i / 3;
	}
	own_map.cpu[CPU].node = 5;
	add(ONE, 1, (const uint16_t[]){ 1 }, 1);
	add(WIDE, 1, (const uint16_t[]){ 4, 2, 1 }, 3);
	add(AWAY, 0, (const uint16_t[]){ 5 }, 1);
}

static void lists(void)
{
	struct process_core cores[PROCESS_CORES];
	CHECK(cores_list(WIDE, core_choose(WIDE), cores) == 3);
	CHECK(cores[0].core == 4 && cores[0].cpu == FIRST + 4 && cores[0].node == 1);
	CHECK(cores[1].core == 2 && cores[1].cpu == FIRST + 2 && cores[1].node == 0);
	CHECK(cores[2].core == 1 && cores[2].cpu == FIRST + 1);
	CHECK(cores_list(ONE, core_choose(ONE), cores) == 1 && cores[0].core == 1 && cores[0].cpu == FIRST + 1);
}

/* All cores of a program of several are taken while it runs, and by the map before that. */
static void are_used(void)
{
	for (uint32_t core = 0; core < CORES; core++)
		CHECK(core_has_programs(core) == (core == 4 || core == 1 || core == 2));
	core_gained(GAINED, CPU);
	CHECK(core_choose(ONE).index == 1);
	core_use(WIDE, 4);
	CHECK(core_of(WIDE) == 4 && core_choose(ONE).index == GAINED); /* its core has the other's threads, too */
	struct process_core cores[PROCESS_CORES];
	CHECK(cores_list(ONE, core_choose(ONE), cores) == 1 && cores[0].core == GAINED && cores[0].cpu == CPU &&
	      cores[0].node == 5);
	core_use(ONE, GAINED);
	CHECK(core_has_programs(GAINED) && core_choose(WIDE).index == 4);
	core_ended(WIDE);
	CHECK(core_choose(ONE).index == 1);
	core_ended(ONE);
	CHECK(!core_has_programs(GAINED));
	core_use(ONE, 4);
	CHECK(core_choose(WIDE).index == 4); /* a program of several stays on the map's, taken or not */
	core_ended(ONE);
	core_given_up(GAINED);
}

int main(void)
{
	make_map();
	lists();
	are_used();
	return failures != 0;
}
