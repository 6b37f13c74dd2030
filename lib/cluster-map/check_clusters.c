/* SPDX-License-Identifier: BSD-2-Clause */
/* Which cores, modules and channels the clusters have. */
#include <string.h>

#include "draft.h"

static bool check_cpus(const struct cluster_map *map, struct error_message *err)
{
	for (uint32_t i = 0; i < map->cpu_count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (map->cpu[j].machine == map->cpu[i].machine && map->cpu[j].apic == map->cpu[i].apic)
				return error_set_at(err, map->cpu[i].name, "reg",
						 "map: %s and %s have the same local APIC id %u", map->cpu[j].name,
						 map->cpu[i].name, map->cpu[i].apic);
	return true;
}

bool runs_regime(const struct map_cluster *cluster, const char *regime)
{
	size_t length = strlen(regime);

	return strncmp(cluster->kernel, regime, length) == 0 &&
	       (cluster->kernel[length] == '\0' || cluster->kernel[length] == '+');
}

static bool check_cpus_of(const struct cluster_map *map, uint32_t index, struct error_message *err)
{
	const struct map_cluster *cluster = &map->cluster[index];

	for (uint32_t i = 0; i < cluster->cpu_count; i++) {
		const char *cpu = map->cpu[cluster->cpu[i]].name;

		for (uint32_t j = 0; j < i; j++)
			if (cluster->cpu[j] == cluster->cpu[i])
				return error_set_at(err, cpu, NULL, "map: %s is in %s twice", cpu, cluster->name);
		for (uint32_t c = 0; c < index; c++)
			for (uint32_t j = 0; j < map->cluster[c].cpu_count; j++)
				if (map->cluster[c].cpu[j] == cluster->cpu[i])
					return error_set_at(err, cpu, NULL, "map: %s is in %s and in %s", cpu,
							 map->cluster[c].name, cluster->name);
	}
	if (cluster->cpu_count > 1 && runs_regime(cluster, "none"))
		return error_set_at(err, cluster->name, "kernel",
		                    "map: %s: kernel \"%s\" runs on one core only, not on %u",
				 cluster->name, cluster->kernel, cluster->cpu_count);
	return true;
}

static bool check_modules_of(const struct map_cluster *cluster, struct error_message *err)
{
	for (uint32_t i = 0; i < cluster->module_count; i++) {
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(cluster->module[i], cluster->module[j]) == 0)
				return error_set_at(err, cluster->name, "modules", "map: %s: module %s is named twice",
						 cluster->name, cluster->module[i]);
		if (strcmp(cluster->module[i], "map") == 0)
			return error_set_at(err, cluster->name, "modules",
					 "map: %s: module map is given to every cluster unasked", cluster->name);
	}
	return true;
}

static bool check_channel(const struct cluster_map *map, uint32_t index, struct error_message *err)
{
	const struct map_channel *channel = &map->channel[index];

	for (uint32_t side = 0; side < 2; side++)
		if (map_cluster(map, channel->end[side]) == NULL)
			return error_set_at(err, channel->name, "ends", "map: %s: there is no cluster %u",
			                    channel->name,
					 channel->end[side]);
	if (channel->end[0] == channel->end[1])
		return error_set_at(err, channel->name, "ends", "map: %s: both ends are cluster %u", channel->name,
				 channel->end[0]);
	for (uint32_t i = 0; i < index; i++) {
		const struct map_channel *other = &map->channel[i];

		if (other->number == channel->number)
			return error_set_at(err, channel->name, "reg", "map: %s and %s have the same reg %u",
			                    other->name,
					 channel->name, channel->number);
		if ((other->end[0] == channel->end[0] && other->end[1] == channel->end[1]) ||
		    (other->end[0] == channel->end[1] && other->end[1] == channel->end[0]))
			return error_set_at(err, channel->name, "ends", "map: %s and %s join the same two clusters",
					 other->name, channel->name);
	}
	return true;
}

static bool check_spare_cores(const struct map_cluster *cluster, struct error_message *err)
{
	if (cluster->spare_cores && !cluster->restart)
		return error_set_at(err, cluster->name, "spare-cores",
		                    "map: %s: spare-cores is for clusters with restart", cluster->name);
	if (cluster->spare_cores && runs_regime(cluster, "none"))
		return error_set_at(err, cluster->name, "spare-cores", "map: %s: spare-cores is not for kernel \"%s\"",
		                    cluster->name,
				 cluster->kernel);
	return true;
}

static bool check_homed(const struct cluster_map *map, const struct map_cluster *cluster, struct error_message *err)
{
	if (cluster->homed && !runs_regime(cluster, "dynamic"))
		return error_set_at(err, cluster->name, "homed", "map: %s: homed is for kernel \"dynamic\", not \"%s\"",
		                    cluster->name,
				 cluster->kernel);
	for (uint32_t i = 0; i < cluster->cpu_count && cluster->homed; i++)
		if (!map->cpu[cluster->cpu[i]].has_node)
			return error_set_at(err, cluster->name, "homed", "map: %s: homed, and %s has no numa-node-id",
			                    cluster->name,
					 map->cpu[cluster->cpu[i]].name);
	return true;
}

static bool check_restart_of(const struct map_cluster *cluster, struct error_message *err)
{
	if (!check_spare_cores(cluster, err))
		return false;
	if (cluster->restart_limit > MAP_RESTART_LIMIT_MAX)
		return error_set_at(err, cluster->name, "restart-limit", "map: %s: restart-limit is up to %u, not %u",
		                    cluster->name,
				 MAP_RESTART_LIMIT_MAX, cluster->restart_limit);
	if (cluster->restart_delay > MAP_RESTART_DELAY_MAX)
		return error_set_at(err, cluster->name, "restart-delay",
		                    "map: %s: restart-delay is up to %u ms, not %u", cluster->name,
				 MAP_RESTART_DELAY_MAX, cluster->restart_delay);
	return true;
}

bool check_clusters(const struct draft *d)
{
	const struct cluster_map *map = d->map;

	if (map->cluster_count == 0)
		return error_set(d->err, "map: there is no cluster");
	if (!check_cpus(map, d->err))
		return false;
	for (uint32_t i = 0; i < map->cluster_count; i++) {
		const struct map_cluster *cluster = &map->cluster[i];

		/* numbers index tables in kernels and managers */
		if (cluster->number >= map->cluster_count)
			return error_set_at(d->err, cluster->name, "reg",
					 "map: %s: reg is %u, clusters are numbered from 0 to %u", cluster->name,
					 cluster->number, map->cluster_count - 1);
		if (map_cluster(map, cluster->number) != cluster)
			return error_set_at(d->err, cluster->name, "reg", "map: %s and %s have the same reg %u",
					 map_cluster(map, cluster->number)->name, cluster->name, cluster->number);
		if (!check_cpus_of(map, i, d->err) || !check_modules_of(cluster, d->err) ||
		    !check_restart_of(cluster, d->err) ||
		    !check_homed(map, cluster, d->err))
			return false;
	}
	for (uint32_t i = 0; i < map->channel_count; i++)
		if (!check_channel(map, i, d->err))
			return false;
	return true;
}
