/* SPDX-License-Identifier: BSD-2-Clause */
/* What memory the map gives away: it exists, nobody else gets it, and it is near the cluster's own cores. */
#include <string.h>

#include "map.h"

enum { PAGE = 4096, LARGE_PAGE = 2 << 20 };
#define MIB (1ul << 20)

/* One thing that the map gives away. */
struct grant {
	const char *to;
	uint32_t machine;
	struct boot_range range;
};

static bool overlap(const struct boot_range *a, const struct boot_range *b)
{
	return a->base < b->base + b->size && b->base < a->base + a->size;
}

static bool check_shape(const struct grant *g, uint64_t align, struct refusal *why)
{
	const struct boot_range *r = &g->range;

	if (r->size == 0)
		return refuse(why, "map: %s: memory at 0x%lx is empty", g->to, r->base);
	if (r->base + r->size < r->base)
		return refuse(why, "map: %s: memory at 0x%lx goes past the end of the address space", g->to, r->base);
	if ((r->base | r->size) & (align - 1))
		return refuse(why, "map: %s: memory 0x%lx, size 0x%lx is not a multiple of %lu KiB", g->to, r->base,
			      r->size, align / 1024);
	return true;
}

/*
 * A range may hold holes that the firmware keeps, as long as the greater
 * part of it is RAM, but not addresses at which the firmware says there is nothing at
 * all: those are a map for a larger machine. 2 MiB of slack below the top of
 * RAM and the hole below 1 MiB go unremarked.
 */
static bool check_is_ram(const struct grant *g, const struct machine *machine, struct refusal *why)
{
	const struct boot_range *r = &g->range;
	uint64_t usable = ranges_common(&machine->ram, r->base, r->size);
	struct ranges absent = { 0 };

	if (usable == 0)
		return refuse(why, "map: %s: memory 0x%lx .. 0x%lx is not RAM of this machine", g->to, r->base,
			      r->base + r->size - 1);
	ranges_add(&absent, r->base, r->size);
	ranges_remove(&absent, 0, MIB);
	for (uint32_t i = 0; i < machine->known.count; i++)
		ranges_remove(&absent, machine->known.at[i].base, machine->known.at[i].size);
	for (uint32_t i = 0; i < absent.count; i++)
		if (absent.at[i].size > 2 * MIB)
			return refuse(why, "map: %s: memory 0x%lx .. 0x%lx: this machine has none at 0x%lx", g->to,
				      r->base, r->base + r->size - 1, absent.at[i].base);
	if (usable < r->size / 2)
		return refuse(why, "map: %s: of memory 0x%lx .. 0x%lx only %lu of %lu KiB are usable RAM", g->to,
			      r->base, r->base + r->size - 1, usable / 1024, r->size / 1024);
	return true;
}

/* Whether the node has cores that the map uses. High-bandwidth memory and memory expanders are nodes without. */
static bool has_cores(const struct map *map, const struct machine *machine, uint32_t node)
{
	for (uint32_t i = 0; i < map->cpu_count; i++) {
		const struct machine_cpu *cpu = machine_cpu(machine, map->cpu[i].apic);

		if (map->cpu[i].machine == map->machine && cpu != NULL && cpu->has_node && cpu->node == node)
			return true;
	}
	return false;
}

/* Whether a core of this cluster is in the node; nodes as the firmware has them. */
static bool has_node(const struct map *map, const struct map_cluster *cluster, const struct machine *machine,
		     uint32_t node)
{
	for (uint32_t i = 0; i < cluster->cpu_count; i++) {
		const struct machine_cpu *cpu = machine_cpu(machine, map->cpu[cluster->cpu[i]].apic);

		if (cpu == NULL || !cpu->has_node || cpu->node == node)
			return true;
	}
	return false;
}

static bool check_near(const struct map *map, const struct map_cluster *cluster, const struct boot_range *r,
		       const struct machine *machine, struct refusal *why)
{
	for (uint32_t i = 0; i < machine->node_range_count; i++) {
		const struct machine_node_range *n = &machine->node_range[i];

		if (overlap(r, &n->range) && !has_node(map, cluster, machine, n->node) && has_cores(map, machine, n->node))
			return refuse(why, "map: %s: memory 0x%lx .. 0x%lx is in NUMA node %u, its cores are not",
				      cluster->name, r->base, r->base + r->size - 1, n->node);
	}
	return true;
}

static bool check_disjoint(const struct grant *grant, uint32_t count, struct refusal *why)
{
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (grant[i].machine == grant[j].machine && overlap(&grant[i].range, &grant[j].range))
				return refuse(why, "map: memory 0x%lx .. 0x%lx of %s overlaps 0x%lx .. 0x%lx of %s",
					      grant[j].range.base, grant[j].range.base + grant[j].range.size - 1,
					      grant[j].to, grant[i].range.base,
					      grant[i].range.base + grant[i].range.size - 1, grant[i].to);
	return true;
}

bool map_check_memory(const struct map *map, const struct machine *machine, struct refusal *why)
{
	/* static: too large for the loader's stack */
	static struct grant grant[BOOT_MAX_CLUSTERS * BOOT_MAX_RANGES + MAP_MAX_CHANNELS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < map->cluster_count; i++) {
		for (uint32_t j = 0; j < map->cluster[i].memory_count; j++, count++) {
			grant[count] = (struct grant){ map->cluster[i].name, map->cluster[i].machine, map->cluster[i].memory[j] };
			if (!check_shape(&grant[count], PAGE, why))
				return false;
		}
	}
	for (uint32_t i = 0; i < map->channel_count; i++) {
		const struct map_channel *channel = &map->channel[i];

		if (channel->afar) /* a device's memory */
			continue;
		grant[count] = (struct grant){ channel->name, map_cluster(map, channel->end[0])->machine, channel->memory };
		if (!check_shape(&grant[count++], LARGE_PAGE, why))
			return false;
	}
	if (!check_disjoint(grant, count, why))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (grant[i].machine == map->machine && !check_is_ram(&grant[i], machine, why))
			return false;
	for (uint32_t i = 0; machine->has_srat && i < map->cluster_count; i++)
		for (uint32_t j = 0; map_is_here(map, &map->cluster[i]) && j < map->cluster[i].memory_count; j++)
			if (!check_near(map, &map->cluster[i], &map->cluster[i].memory[j], machine, why))
				return false;
	return true;
}
