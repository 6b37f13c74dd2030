/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map's memory nodes. Their numa-node-id is a label as that of cores (map_check_nodes.c): a label stands for the
 * domains of its cores, and the memory that has it lies in these.
 */
#include <libfdt.h>
#include <string.h>

#include "map.h"

#define SLACK (2ul << 20) /* bytes of RAM that may be in another domain, at the border of two */

/* The firmware's domain of the cores of one label. */
struct label {
	const struct map_cpu *first; /* with a known domain; NULL: none */
	bool complete;               /* the domains of all its cores are known */
	bool has_domain;             /* one of them is in the domain asked for */
};

static struct label look_up(const struct cluster_map *map, const struct machine *machine, uint32_t node,
			    uint32_t domain)
{
	struct label label = { .complete = true };

	for (uint32_t i = 0; i < map->cpu_count; i++) {
		const struct map_cpu *cpu = &map->cpu[i];
		const struct machine_cpu *real = machine_cpu(machine, cpu->apic);

		if (!cpu->has_node || cpu->node != node)
			continue;
		if (real == NULL || !real->has_node) {
			label.complete = false;
			continue;
		}
		label.first = label.first == NULL ? cpu : label.first;
		label.has_domain |= real->node == domain;
	}
	return label;
}

/* Returns the first core of the map in a domain, or NULL. */
static const struct map_cpu *core_of(const struct cluster_map *map, const struct machine *machine, uint32_t domain)
{
	for (uint32_t i = 0; i < map->cpu_count; i++) {
		const struct machine_cpu *real = machine_cpu(machine, map->cpu[i].apic);

		if (real != NULL && real->has_node && real->node == domain)
			return &map->cpu[i];
	}
	return NULL;
}

/* Returns the bytes of RAM that are in both ranges. */
static uint64_t common_ram(const struct machine *machine, const struct boot_range *a, const struct boot_range *b)
{
	uint64_t base = a->base > b->base ? a->base : b->base;
	uint64_t end = a->base + a->size < b->base + b->size ? a->base + a->size : b->base + b->size;

	return end > base ? ranges_common(&machine->ram, base, end - base) : 0;
}

static bool check_range(const struct cluster_map *map, const struct machine *machine, const char *name,
			const struct boot_range *range, uint32_t node, struct error_message *err)
{
	for (uint32_t i = 0; i < machine->node_range_count; i++) {
		const struct machine_node_range *n = &machine->node_range[i];
		struct label label = look_up(map, machine, node, n->node);
		const struct map_cpu *other = core_of(map, machine, n->node);

		/* memory of nodes without cores, by the map or the firmware, may have any label */
		if (label.first == NULL || !label.complete || label.has_domain || other == NULL ||
		    common_ram(machine, range, &n->range) <= SLACK)
			continue;
		return error_set(err,
		                 "map: %s: numa-node-id is %u, as %s's; the firmware has 0x%lx .. 0x%lx in one domain "
		                 "with %s (%u): make a map of this machine", name, node, label.first->name,
		                 n->range.base, n->range.base + n->range.size - 1, other->name, n->node);
	}
	return true;
}

static bool check_node(const struct cluster_map *map, const void *blob, int node, const struct machine *machine,
		       struct error_message *err)
{
	const char *name = fdt_get_name(blob, node, NULL);
	int size = 0, label_size = 0;
	const fdt64_t *cell = fdt_getprop(blob, node, "reg", &size);
	const fdt32_t *label = fdt_getprop(blob, node, "numa-node-id", &label_size);

	if (label == NULL)
		return true;
	if (cell == NULL || size % 16 != 0 || label_size != 4)
		return error_set(err, "map: %s: reg or numa-node-id has a wrong size", name);
	for (int i = 0; i < size / 16; i++) {
		struct boot_range range = { fdt64_ld(cell + 2 * i), fdt64_ld(cell + 2 * i + 1) };

		if (range.size > UINT64_MAX - range.base)
			return error_set(err, "map: %s: memory at 0x%lx goes past the end of the address space", name,
			                 range.base);
		if (!check_range(map, machine, name, &range, fdt32_ld(label), err))
			return false;
	}
	return true;
}

bool map_check_labels(const struct cluster_map *map, const void *blob, const struct machine *machine,
		      struct error_message *err)
{
	int node;

	for (uint32_t i = 0; i < map->cpu_count; i++)
		if (map->cpu[i].machine != 0) /* a map of several machines says nothing of their memory */
			return true;
	fdt_for_each_subnode(node, blob, 0)
		if (strncmp(fdt_get_name(blob, node, NULL), "memory@", 7) == 0 &&
		    !check_node(map, blob, node, machine, err))
			return false;
	return true;
}
