/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that the map gives away exists, and is near the cluster's own cores. */
#include <skerry/span.h>
#include "map.h"

#define MIB (1ul << 20)

static bool ranges_overlap(const struct boot_range *a, const struct boot_range *b)
{
	return spans_overlap(a->base, a->size, b->base, b->size);
}

/*
 * A range may hold holes that the firmware keeps, as long as the greater
 * part of it is RAM, but not addresses at which the firmware says there is nothing at
 * all: those are a map for a larger machine. 2 MiB of slack below the top of
 * RAM and the hole below 1 MiB go unremarked.
 */
static bool check_is_ram(const char *to, const struct boot_range *r, const struct machine *machine,
                         struct error_message *err)
{
	uint64_t usable = ranges_common(&machine->ram, r->base, r->size);
	struct ranges absent = { 0 };

	if (usable == 0)
		return error_set(err, "map: %s: memory 0x%lx .. 0x%lx is not RAM of this machine", to, r->base,
			      r->base + r->size - 1);
	ranges_add(&absent, r->base, r->size);
	ranges_remove(&absent, 0, MIB);
	for (uint32_t i = 0; i < machine->known.count; i++)
		ranges_remove(&absent, machine->known.at[i].base, machine->known.at[i].size);
	for (uint32_t i = 0; i < absent.count; i++)
		if (absent.at[i].size > 2 * MIB)
			return error_set(err, "map: %s: memory 0x%lx .. 0x%lx: this machine has none at 0x%lx", to,
				      r->base, r->base + r->size - 1, absent.at[i].base);
	if (usable < r->size / 2)
		return error_set(err, "map: %s: of memory 0x%lx .. 0x%lx only %lu of %lu KiB are usable RAM", to,
			      r->base, r->base + r->size - 1, usable / 1024, r->size / 1024);
	return true;
}

/*
 * Returns whether the node has cores that the map uses. High-bandwidth memory and memory expanders are nodes without.
 */
static bool has_cores(const struct cluster_map *map, const struct machine *machine, uint32_t node)
{
	for (uint32_t i = 0; i < map->cpu_count; i++) {
		const struct machine_cpu *cpu = machine_cpu(machine, map->cpu[i].apic);

		if (map->cpu[i].machine == map->machine && cpu != NULL && cpu->has_node && cpu->node == node)
			return true;
	}
	return false;
}

/* Returns whether a core of this cluster is in the node; nodes as the firmware has them. */
static bool has_node(const struct cluster_map *map, const struct map_cluster *cluster, const struct machine *machine,
		     uint32_t node)
{
	for (uint32_t i = 0; i < cluster->cpu_count; i++) {
		const struct machine_cpu *cpu = machine_cpu(machine, map->cpu[cluster->cpu[i]].apic);

		if (cpu == NULL || !cpu->has_node || cpu->node == node)
			return true;
	}
	return false;
}

/* Returns whether a domain of one of the cluster's cores has RAM. Cores of others have that of another node. */
static bool has_memory(const struct cluster_map *map, const struct map_cluster *cluster, const struct machine *machine)
{
	for (uint32_t i = 0; i < machine->node_range_count; i++)
		if (has_node(map, cluster, machine, machine->node_range[i].node))
			return true;
	return false;
}

static bool check_near(const struct cluster_map *map, const struct map_cluster *cluster, const struct boot_range *r,
		       const struct machine *machine, struct error_message *err)
{
	for (uint32_t i = 0; i < machine->node_range_count; i++) {
		const struct machine_node_range *n = &machine->node_range[i];

		if (ranges_overlap(r, &n->range) && !has_node(map, cluster, machine, n->node) &&
		    has_cores(map, machine, n->node))
			return error_set(err,
			                 "map: %s: memory 0x%lx .. 0x%lx is in the firmware's NUMA domain %u, its "
			                 "cores are not",
				      cluster->name, r->base, r->base + r->size - 1, n->node);
	}
	return true;
}

static bool check_memory_of(const struct cluster_map *map, const struct map_cluster *cluster,
                            const struct machine *machine,
			    struct error_message *err)
{
	bool near_only = machine->has_srat && has_memory(map, cluster, machine);

	for (uint32_t i = 0; i < cluster->memory_count; i++)
		if (!check_is_ram(cluster->name, &cluster->memory[i], machine, err) ||
		    (near_only && !check_near(map, cluster, &cluster->memory[i], machine, err)))
			return false;
	return true;
}

bool map_check_memory(const struct cluster_map *map, const struct machine *machine, struct error_message *err)
{
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (map_is_here(map, &map->cluster[i]) && !check_memory_of(map, &map->cluster[i], machine, err))
			return false;
	for (uint32_t i = 0; i < map->channel_count; i++) {
		const struct map_channel *channel = &map->channel[i];

		/* a device's, or elsewhere */
		if (channel->remote || !map_is_here(map, map_cluster(map, channel->end[0])))
			continue;
		if (!check_is_ram(channel->name, &channel->memory, machine, err))
			return false;
	}
	return true;
}
