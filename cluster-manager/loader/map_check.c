/* SPDX-License-Identifier: BSD-2-Clause */
/* Who runs where: cores, kernel images, modules, channels, each against what the machine has. */
#include <string.h>

#include "executable.h"
#include "map.h"

#include <skerry/root_info.h>

static bool check_cpu(const struct map *map, uint32_t index, const struct machine *machine, struct refusal *why)
{
	const struct map_cpu *cpu = &map->cpu[index];
	const struct machine_cpu *real = machine_cpu(machine, cpu->apic);

	for (uint32_t i = 0; i < index; i++)
		if (map->cpu[i].machine == cpu->machine && map->cpu[i].apic == cpu->apic)
			return refuse(why, "map: %s and %s have the same local APIC id %u", map->cpu[i].name,
				      cpu->name, cpu->apic);
	if (cpu->machine != map->machine)
		return true;
	if (real == NULL)
		return refuse(why, "map: %s: this machine has no core with local APIC id %u", cpu->name, cpu->apic);
	if (!real->enabled)
		return refuse(why, "map: %s: the firmware has disabled the core with local APIC id %u", cpu->name,
			      cpu->apic);
	if (cpu->apic > 254 && !machine->x2apic)
		return refuse(why, "map: %s: local APIC id %u needs x2APIC, which this machine lacks", cpu->name,
			      cpu->apic);
	if (real->has_node && cpu->has_node && real->node != cpu->node)
		return refuse(why, "map: %s: numa-node-id is %u, the firmware says %u", cpu->name, cpu->node,
			      real->node);
	return true;
}

static bool check_cpus_of(const struct map *map, uint32_t index, struct refusal *why)
{
	const struct map_cluster *cluster = &map->cluster[index];

	for (uint32_t i = 0; i < cluster->cpu_count; i++) {
		const char *cpu = map->cpu[cluster->cpu[i]].name;

		for (uint32_t j = 0; j < i; j++)
			if (cluster->cpu[j] == cluster->cpu[i])
				return refuse(why, "map: %s is in %s twice", cpu, cluster->name);
		for (uint32_t c = 0; c < index; c++)
			for (uint32_t j = 0; j < map->cluster[c].cpu_count; j++)
				if (map->cluster[c].cpu[j] == cluster->cpu[i])
					return refuse(why, "map: %s is in %s and in %s", cpu,
						      map->cluster[c].name, cluster->name);
	}
	if (cluster->cpu_count > 1 &&
	    (strcmp(cluster->kernel, "none") == 0 || strncmp(cluster->kernel, "none+", 5) == 0))
		return refuse(why, "map: %s: kernel \"%s\" runs on one core only, not on %u", cluster->name,
			      cluster->kernel, cluster->cpu_count);
	return true;
}

static bool read_module(const struct machine *machine, const char *name, const char *wanted_by,
			struct elf_image *elf, struct refusal *why)
{
	const struct machine_module *module = machine_module(machine, name);

	if (module == NULL)
		return refuse(why, "map: %s: there is no module %s", wanted_by, name);
	return elf == NULL || elf_read(elf, module->data, module->size, name, why);
}

static bool check_images_of(const struct map_cluster *cluster, const struct machine *machine, struct refusal *why)
{
	char kernel[BOOT_NAME_SIZE + 8] = "kernel-";
	struct elf_image elf;

	strcpy(kernel + 7, cluster->kernel);
	if (!read_module(machine, kernel, cluster->name, &elf, why) ||
	    !elf_check_mappable(&elf, KERNEL_IMAGE_BASE, UINT64_MAX, ELF_MAX_SEGMENTS, kernel, why) ||
	    !read_module(machine, cluster->root, cluster->name, &elf, why) ||
	    !elf_check_mappable(&elf, 4096, ROOT_RESERVED_BASE, BOOT_MAX_SEGMENTS, cluster->root, why))
		return false;
	for (uint32_t i = 0; i < cluster->module_count; i++) {
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(cluster->module[i], cluster->module[j]) == 0)
				return refuse(why, "map: %s: module %s is named twice", cluster->name,
					      cluster->module[i]);
		if (strcmp(cluster->module[i], "map") == 0)
			return refuse(why, "map: %s: module map is given to every cluster unasked", cluster->name);
		if (!read_module(machine, cluster->module[i], cluster->name, NULL, why))
			return false;
	}
	return true;
}

static bool check_channel(const struct map *map, uint32_t index, struct refusal *why)
{
	const struct map_channel *channel = &map->channel[index];

	for (uint32_t side = 0; side < 2; side++)
		if (map_cluster(map, channel->end[side]) == NULL)
			return refuse(why, "map: %s: there is no cluster %u", channel->name, channel->end[side]);
	if (channel->end[0] == channel->end[1])
		return refuse(why, "map: %s: both ends are cluster %u", channel->name, channel->end[0]);
	for (uint32_t i = 0; i < index; i++) {
		const struct map_channel *other = &map->channel[i];

		if (other->id == channel->id)
			return refuse(why, "map: %s and %s have the same reg %u", other->name, channel->name,
				      channel->id);
		if ((other->end[0] == channel->end[0] && other->end[1] == channel->end[1]) ||
		    (other->end[0] == channel->end[1] && other->end[1] == channel->end[0]))
			return refuse(why, "map: %s and %s join the same two clusters", other->name, channel->name);
	}
	return true;
}

bool map_check_clusters(const struct map *map, const struct machine *machine, struct refusal *why)
{
	if (map->cluster_count == 0)
		return refuse(why, "map: there is no cluster");
	for (uint32_t i = 0; i < machine->module_count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(machine->module[i].name, machine->module[j].name) == 0)
				return refuse(why, "module %s was loaded twice", machine->module[i].name);
	for (uint32_t i = 0; i < map->cpu_count; i++)
		if (!check_cpu(map, i, machine, why))
			return false;
	for (uint32_t i = 0; i < map->cluster_count; i++) {
		const struct map_cluster *cluster = &map->cluster[i];

		/* numbers index tables in kernels and managers */
		if (cluster->id >= map->cluster_count)
			return refuse(why, "map: %s: reg is %u, clusters are numbered from 0 to %u", cluster->name,
				      cluster->id, map->cluster_count - 1);
		if (map_cluster(map, cluster->id) != cluster)
			return refuse(why, "map: %s and %s have the same reg %u",
				      map_cluster(map, cluster->id)->name, cluster->name, cluster->id);
		if (!check_cpus_of(map, i, why) ||
		    (map_is_here(map, cluster) && !check_images_of(cluster, machine, why)))
			return false;
	}
	for (uint32_t i = 0; i < map->channel_count; i++)
		if (!check_channel(map, i, why))
			return false;
	return true;
}

static bool check_run(const struct map *map, struct refusal *why)
{
	if (map->shutdown == NULL || strcmp(map->shutdown, "when-done") == 0 || strcmp(map->shutdown, "never") == 0)
		return true;
	return refuse(why, "map: run: shutdown \"%s\" is neither when-done nor never", map->shutdown);
}

bool map_check(const struct map *map, const struct machine *machine, struct refusal *why)
{
	return map_check_clusters(map, machine, why) && map_check_machines(map, why) && map_check_memory(map, machine, why) &&
	       map_check_applications(map, machine, why) && map_check_network(map, why) && check_run(map, why);
}
