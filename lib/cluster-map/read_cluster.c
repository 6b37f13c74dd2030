/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes of cores, clusters and channels. */
#include <libfdt.h>
#include <string.h>
#include <skerry/span.h>

#include "draft.h"

/* Names of nodes are shorter than MAP_NODE_NAME: check_blob(). */
static void take_name(const struct draft *d, int node, char out[MAP_NODE_NAME])
{
	strcpy(out, node_name(d, node));
}

/* The local APIC id, before it the machine where the map has several: where /cpus has 2 address cells. */
static bool read_cpu_reg(struct draft *d, int node, struct map_cpu *cpu)
{
	int size;
	const fdt32_t *cell = fdt_getprop(d->fdt, node, "reg", &size);

	if (d->cpu_cells != 2)
		return read_u32(d, node, "reg", &cpu->apic);
	if (cell == NULL || size != 8)
		return error_set_at(d->err, cpu->name, "reg", "map: %s: reg is not machine and local APIC id",
		                    cpu->name);
	cpu->machine = fdt32_ld(&cell[0]);
	cpu->apic = fdt32_ld(&cell[1]);
	return true;
}

int cpu_by_phandle(const struct draft *d, uint32_t phandle)
{
	for (uint32_t i = 0; i < d->map->cpu_count; i++)
		if (phandle != 0 && d->phandle[i] == phandle)
			return (int)i;
	return MAP_NONE;
}

static bool read_cpu(struct draft *d, int node)
{
	struct cluster_map *map = d->map;
	struct map_cpu *cpu = &map->cpu[map->cpu_count];
	uint32_t phandle = fdt_get_phandle(d->fdt, node);

	if (map->cpu_count == MAP_MAX_CPUS)
		return error_set_at(d->err, node_name(d, node), NULL, "map: %s: more than %u cpus", node_name(d, node),
				 MAP_MAX_CPUS);
	take_name(d, node, cpu->name);
	for (uint32_t i = 0; i < map->cpu_count; i++)
		if (strcmp(map->cpu[i].name, cpu->name) == 0)
			return error_set_at(d->err, cpu->name, NULL, "map: there are two cpus %s", cpu->name);
	if (cpu_by_phandle(d, phandle) != MAP_NONE)
		return error_set_at(d->err, cpu->name, "phandle", "map: %s and %s have the same phandle",
				 map->cpu[cpu_by_phandle(d, phandle)].name, cpu->name);
	d->phandle[map->cpu_count] = phandle;
	if (!read_cpu_reg(d, node, cpu))
		return false;
	cpu->has_node = has_property(d, node, "numa-node-id");
	if (cpu->has_node && !read_u32(d, node, "numa-node-id", &cpu->node))
		return false;
	map->cpu_count++;
	return true;
}

static bool read_cluster_cpus(struct draft *d, int node, struct map_cluster *cluster)
{
	int size;
	const fdt32_t *phandle = fdt_getprop(d->fdt, node, "cpus", &size);

	if (phandle == NULL || size == 0 || size % 4 != 0)
		return error_set_at(d->err, cluster->name, "cpus", "map: %s has no cpus", cluster->name);
	if (size / 4 > BOOT_MAX_CPUS)
		return error_set_at(d->err, cluster->name, "cpus", "map: %s has more than %u cpus", cluster->name,
				 BOOT_MAX_CPUS);
	for (int i = 0; i < size / 4; i++) {
		int cpu = cpu_by_phandle(d, fdt32_ld(&phandle[i]));

		if (cpu == MAP_NONE)
			return error_set_at(d->err, cluster->name, "cpus",
					 "map: %s: entry %u of cpus names no node of /cpus", cluster->name,
					 (unsigned)i);
		cluster->cpu[cluster->cpu_count++] = (uint32_t)cpu;
	}
	cluster->machine = d->map->cpu[cluster->cpu[0]].machine;
	return true;
}

static bool read_cluster_modules(struct draft *d, int node, struct map_cluster *cluster)
{
	const char *data;
	uint32_t size;

	if (!read_strings(d, node, "modules", &data, &size))
		return false;
	for (uint32_t at = 0; at < size; at += (uint32_t)strlen(data + at) + 1) {
		size_t length = strlen(data + at);

		if (cluster->module_count == MAP_MAX_MODULES)
			return error_set_at(d->err, cluster->name, "modules", "map: %s has more than %u modules",
					 cluster->name, MAP_MAX_MODULES);
		if (length == 0 || length >= BOOT_NAME_SIZE)
			return error_set_at(d->err, cluster->name, "modules",
					 "map: %s: module name \"%s\" is empty or longer than %u bytes", cluster->name,
					 data + at, BOOT_NAME_SIZE - 1);
		memcpy(cluster->module[cluster->module_count++], data + at, length + 1);
	}
	return true;
}

static bool read_restart(struct draft *d, int node, struct map_cluster *cluster)
{
	cluster->restart_limit = MAP_RESTART_LIMIT;
	cluster->restart_delay = MAP_RESTART_DELAY;
	return read_flag(d, node, "restart", &cluster->restart) &&
	       read_flag(d, node, "spare-cores", &cluster->spare_cores) &&
	       (!has_property(d, node, "restart-limit") ||
	        read_u32(d, node, "restart-limit", &cluster->restart_limit)) &&
	       (!has_property(d, node, "restart-delay") || read_u32(d, node, "restart-delay", &cluster->restart_delay));
}

static bool read_granularity(struct draft *d, int node, struct map_cluster *cluster)
{
	const char *granularity;

	if (!read_option(d, node, "granularity", &granularity))
		return false;
	cluster->granularity = granularity != NULL &&
	                       strcmp(granularity, "fine") == 0 ? GRANULARITY_FINE : GRANULARITY_COARSE;
	if (granularity == NULL)
		return true;
	if (cluster->granularity == GRANULARITY_COARSE && strcmp(granularity, "coarse") != 0)
		return error_set_at(d->err, cluster->name, "granularity",
		                    "map: %s: granularity \"%s\" is neither coarse nor fine",
				 cluster->name, granularity);
	return runs_regime(cluster, "dynamic") ||
	       error_set_at(d->err, cluster->name, "granularity",
	                    "map: %s: granularity is for kernel \"dynamic\", not \"%s\"",
			 cluster->name, cluster->kernel);
}

static bool read_cluster(struct draft *d, int node)
{
	struct cluster_map *map = d->map;
	struct map_cluster *cluster = &map->cluster[map->cluster_count];

	if (map->cluster_count == BOOT_MAX_CLUSTERS)
		return error_set_at(d->err, node_name(d, node), NULL, "map: %s: more than %u clusters",
		                    node_name(d, node),
				 BOOT_MAX_CLUSTERS);
	take_name(d, node, cluster->name);
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (strcmp(map->cluster[i].name, cluster->name) == 0)
			return error_set_at(d->err, cluster->name, NULL, "map: there are two clusters %s",
			                    cluster->name);
	if (!read_flag(d, node, "devices", &cluster->devices) || !read_u32(d, node, "reg", &cluster->number) ||
	    !read_name(d, node, "kernel", cluster->kernel) || !read_name(d, node, "root", cluster->root) ||
	    !read_cluster_cpus(d, node, cluster) ||
	    !read_ranges(d, node, cluster->memory, BOOT_MAX_RANGES, &cluster->memory_count) ||
	    !read_cluster_modules(d, node, cluster) || !read_restart(d, node, cluster) ||
	    !read_granularity(d, node, cluster) || !read_flag(d, node, "homed", &cluster->homed))
		return false;
	map->cluster_count++;
	return true;
}

/* The shared memory devices of a channel between two machines. */
static bool read_devices(struct draft *d, int node, struct map_channel *channel)
{
	int device_size, size;
	const fdt32_t *device = fdt_getprop(d->fdt, node, "ivshmem", &device_size);
	const void *p = fdt_getprop(d->fdt, node, "size", &size);

	if (has_property(d, node, "memory"))
		return error_set_at(d->err, channel->name, "ivshmem", "map: %s has both ivshmem and memory",
		                    channel->name);
	if (device_size != 8)
		return error_set_at(d->err, channel->name, "ivshmem", "map: %s: ivshmem is not two device numbers",
				 channel->name);
	if (p == NULL || size != 8)
		return error_set_at(d->err, channel->name, "size", "map: %s has no size of two cells", channel->name);
	channel->remote = true;
	channel->device[0] = fdt32_ld(&device[0]);
	channel->device[1] = fdt32_ld(&device[1]);
	channel->memory.size = fdt64_ld(p);
	if (channel->memory.size < 2 * MAP_KERNELS_PART || !is_power_of_two(channel->memory.size))
		return error_set_at(d->err, channel->name, "size",
				 "map: %s: size 0x%lx is not a power of two of at least 4 MiB", channel->name,
				 channel->memory.size);
	channel->memory.size -= MAP_KERNELS_PART;
	return true;
}

static bool read_channel(struct draft *d, int node)
{
	struct cluster_map *map = d->map;
	struct map_channel *channel = &map->channel[map->channel_count];
	uint32_t ranges;
	int size;
	const fdt32_t *ends = fdt_getprop(d->fdt, node, "ends", &size);

	if (map->channel_count == MAP_MAX_CHANNELS)
		return error_set_at(d->err, node_name(d, node), NULL, "map: %s: more than %u channels",
		                    node_name(d, node),
				 MAP_MAX_CHANNELS);
	take_name(d, node, channel->name);
	for (uint32_t i = 0; i < map->channel_count; i++)
		if (strcmp(map->channel[i].name, channel->name) == 0)
			return error_set_at(d->err, channel->name, NULL, "map: there are two channels %s",
			                    channel->name);
	if (!read_u32(d, node, "reg", &channel->number))
		return false;
	if (ends == NULL || size != 8)
		return error_set_at(d->err, channel->name, "ends", "map: %s: ends does not name two clusters",
		                    channel->name);
	channel->end[0] = fdt32_ld(&ends[0]);
	channel->end[1] = fdt32_ld(&ends[1]);
	if (has_property(d, node, "ivshmem") ? !read_devices(d, node, channel)
					     : !read_ranges(d, node, &channel->memory, 1, &ranges))
		return false;
	map->channel_count++;
	return true;
}

bool read_clusters(struct draft *d)
{
	d->cpu_cells = fdt_address_cells(d->fdt, fdt_subnode_offset(d->fdt, 0, "cpus"));
	return read_children(d, "cpus", true, read_cpu) && read_children(d, "clusters", true, read_cluster) &&
	       read_children(d, "channels", false, read_channel);
}
