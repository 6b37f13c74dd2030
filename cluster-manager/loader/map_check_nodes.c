/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NUMA nodes. The map's numbers are labels, the firmware's are proximity domains (ACPI 6.5, 5.2.16): they belong
 * together by the cores that they hold, not by their numbers. A label may hold several domains, or a domain several
 * labels; a map that separates what one domain holds and also joins it with another domain contradicts the firmware.
 */
#include "map.h"

/* The domain of each core of the map, where it is on this machine and both the map and the firmware know its node. */
static struct {
	bool known;
	uint32_t domain;
} core[MAP_MAX_CPUS];

static void look_up(const struct cluster_map *map, const struct machine *machine)
{
	for (uint32_t i = 0; i < map->cpu_count; i++) {
		const struct map_cpu *cpu = &map->cpu[i];
		const struct machine_cpu *real = cpu->machine == map->machine ? machine_cpu(machine, cpu->apic) : NULL;

		core[i].known = real != NULL && real->has_node && cpu->has_node;
		core[i].domain = core[i].known ? real->node : 0;
	}
}

enum relation { SAME_NODE, SAME_DOMAIN, SAME_BOTH };

/* Returns the first of `count` cores that has the same label as core `place` and another domain, or the reverse, or
 * both; or `count`. */
static uint32_t find_relative(const struct cluster_map *map, uint32_t place, enum relation relation, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		bool node = map->cpu[i].node == map->cpu[place].node, domain = core[i].domain == core[place].domain;

		if (core[i].known && node == (relation != SAME_DOMAIN) && domain == (relation != SAME_NODE))
			return i;
	}
	return count;
}

/* Returns whether no core before this one has its label and its domain. */
static bool is_first(const struct cluster_map *map, uint32_t place)
{
	return core[place].known && find_relative(map, place, SAME_BOTH, place) == place;
}

bool map_check_nodes(const struct cluster_map *map, const struct machine *machine, struct error_message *err)
{
	look_up(map, machine);
	for (uint32_t i = 0; i < map->cpu_count; i++) {
		uint32_t joined = find_relative(map, i, SAME_NODE, map->cpu_count),
		         separated = find_relative(map, i, SAME_DOMAIN, map->cpu_count);

		if (is_first(map, i) && joined < map->cpu_count && separated < map->cpu_count)
			return error_set(err,
			                 "map: %s and %s have one numa-node-id, %u; the firmware has %s in a domain "
			                 "with %s (%u), "
				      "and %s in another: make a map of this machine", map->cpu[i].name,
				      map->cpu[joined].name,
				      map->cpu[i].node, map->cpu[i].name, map->cpu[separated].name, core[i].domain,
				      map->cpu[joined].name);
	}
	return true;
}

void map_say_nodes(const struct cluster_map *map, const struct machine *machine, map_print *print)
{
	look_up(map, machine);
	for (uint32_t i = 0; i < map->cpu_count; i++) {
		uint32_t joined = find_relative(map, i, SAME_NODE, map->cpu_count),
		         separated = find_relative(map, i, SAME_DOMAIN, map->cpu_count);

		if (!is_first(map, i))
			continue;
		if (joined > i && joined < map->cpu_count)
			print("map: numa-node-id %u holds several domains of the firmware: %u and %u, or more",
			      map->cpu[i].node, core[i].domain, core[joined].domain);
		if (separated > i && separated < map->cpu_count)
			print("map: the firmware's domain %u is several nodes of the map: %u and %u, or more",
			      core[i].domain, map->cpu[i].node, map->cpu[separated].node);
	}
}

static uint64_t ram_of(const struct machine *machine, uint32_t domain)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < machine->node_range_count; i++)
		if (machine->node_range[i].node == domain)
			bytes += ranges_common(&machine->ram, machine->node_range[i].range.base,
			                       machine->node_range[i].range.size);
	return bytes;
}

void map_list_nodes(const struct cluster_map *map, const struct machine *machine, map_print *print)
{
	uint32_t pairs = 0, others = 0;

	look_up(map, machine);
	for (uint32_t i = 0; i < map->cpu_count; i++)
		if (is_first(map, i)) {
			pairs++;
			others += map->cpu[i].node != core[i].domain;
		}
	for (uint32_t i = 0; i < map->cpu_count && pairs + others > 1; i++) {
		uint32_t count = 0;

		if (!is_first(map, i))
			continue;
		for (uint32_t j = i; j < map->cpu_count; j++)
			count += core[j].known && map->cpu[j].node == map->cpu[i].node &&
			         core[j].domain == core[i].domain;
		print("node %u = domain %u: %u core%s, %lu MiB", map->cpu[i].node, core[i].domain, count,
		      count == 1 ? "" : "s", ram_of(machine, core[i].domain) >> 20);
	}
}
