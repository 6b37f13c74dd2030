/* SPDX-License-Identifier: BSD-2-Clause */
/* Which clusters share a machine, which of them has its devices, and the channels that join machines. Most maps have
 * one machine. */
#include "draft.h"

enum { MAX_MACHINES = BOOT_MAX_CLUSTERS }; /* each has a cluster */

static bool check_cluster(const struct cluster_map *map, const struct map_cluster *cluster, struct error_message *err)
{
	for (uint32_t i = 1; i < cluster->cpu_count; i++)
		if (map->cpu[cluster->cpu[i]].machine != cluster->machine)
			return error_set_at(err, cluster->name, "cpus", "map: %s: %s and %s are in different machines",
					 cluster->name, map->cpu[cluster->cpu[0]].name, map->cpu[cluster->cpu[i]].name);
	return true;
}

static bool can_be_interrupted(const struct cluster_map *map, const struct map_cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->cpu_count; i++)
		if (map->cpu[cluster->cpu[i]].apic <= BOOT_MAX_DEVICE_APIC)
			return true;
	return false;
}

static bool check_machine(const struct cluster_map *map, uint32_t machines, uint32_t machine, struct error_message *err)
{
	const struct map_cluster *owner = NULL;
	bool is_there = false;

	for (uint32_t i = 0; i < map->cluster_count; i++) {
		const struct map_cluster *cluster = &map->cluster[i];

		if (cluster->machine != machine)
			continue;
		is_there = true;
		if (!cluster->devices)
			continue;
		if (owner != NULL)
			return error_set_at(err, cluster->name, "devices", "map: %s and %s both have devices",
			                    owner->name,
					 cluster->name);
		owner = cluster;
	}
	if (!is_there)
		return error_set(err, "map: there is no cluster on machine %u, and machines are numbered without gaps",
		                 machine);
	if (owner == NULL && machines == 1)
		return error_set(err, "map: no cluster has devices");
	if (owner == NULL)
		return error_set(err, "map: no cluster on machine %u has devices", machine);
	return can_be_interrupted(map, owner) ||
	       error_set_at(err, owner->name, "devices",
			 "map: %s has devices, but no core with a local APIC id that they can name, up to %u",
			 owner->name, BOOT_MAX_DEVICE_APIC);
}

/* Ends are known to exist. */
static bool check_channel(const struct cluster_map *map, const struct map_channel *channel, uint32_t *taken,
                          struct error_message *err)
{
	const struct map_cluster *end[2] = { map_cluster(map, channel->end[0]), map_cluster(map, channel->end[1]) };

	if (!channel->remote)
		return end[0]->machine == end[1]->machine ||
		       error_set_at(err, channel->name, "ivshmem",
				 "map: %s: %s and %s are in different machines, which have no memory in common but an "
				 "ivshmem device", channel->name, end[0]->name, end[1]->name);
	if (end[0]->machine == end[1]->machine)
		return error_set_at(err, channel->name, "ivshmem",
				 "map: %s: %s and %s are in one machine and need no ivshmem device", channel->name,
				 end[0]->name, end[1]->name);
	for (uint32_t side = 0; side < 2; side++) {
		uint32_t device = channel->device[side], machine = end[side]->machine;

		if (device == 0 || device >= MAP_PCI_DEVICES)
			return error_set_at(err, channel->name, "ivshmem",
					 "map: %s: ivshmem %u is no device number from 1 to %u", channel->name, device,
					 MAP_PCI_DEVICES - 1);
		if (taken[machine] >> device & 1)
			return error_set_at(err, channel->name, "ivshmem",
					 "map: %s: ivshmem %u of machine %u is another channel's already",
					 channel->name, device, machine);
		taken[machine] |= 1u << device;
	}
	return true;
}

bool check_machines(struct draft *d)
{
	static uint32_t taken[MAX_MACHINES]; /* bits: device numbers */
	struct cluster_map *map = d->map;
	uint32_t machines = 0;

	for (uint32_t i = 0; i < map->cluster_count; i++) {
		taken[i] = 0;
		if (!check_cluster(map, &map->cluster[i], d->err))
			return false;
		if (map->cluster[i].machine >= map->cluster_count)
			return error_set_at(d->err, map->cluster[i].name, NULL,
					 "map: %s is on machine %u, and machines are numbered without gaps",
					 map->cluster[i].name, map->cluster[i].machine);
		if (machines <= map->cluster[i].machine)
			machines = map->cluster[i].machine + 1;
		if (map->cluster[i].devices && map->cluster[i].machine == 0)
			map->primary = map->cluster[i].number;
	}
	for (uint32_t i = 0; i < machines; i++)
		if (!check_machine(map, machines, i, d->err))
			return false;
	for (uint32_t i = 0; i < map->channel_count; i++)
		if (!check_channel(map, &map->channel[i], taken, d->err))
			return false;
	return true;
}
