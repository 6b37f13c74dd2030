/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that the managers will start: each on a core of a cluster that holds it, each address once. */
#include <libfdt.h>
#include <string.h>

#include "executable.h"
#include "map.h"

enum { HEAP_ALIGN = 2 << 20 };
#define MIB (1ul << 20)

static bool has_module(const struct map_cluster *cluster, const char *name)
{
	for (uint32_t i = 0; i < cluster->module_count; i++)
		if (strcmp(cluster->module[i], name) == 0)
			return true;
	return false;
}

static bool has_application(const struct map *map, const char *name)
{
	for (uint32_t i = 0; i < map->application_count; i++)
		if (strcmp(map->application[i].name, name) == 0)
			return true;
	return false;
}

static bool check_place(const struct map *map, const struct map_application *a, const struct machine *machine,
			struct refusal *why)
{
	int cpu = map_cpu_by_phandle(map, a->phandle);
	const struct map_cluster *cluster;
	const struct machine_module *module;
	struct elf_image elf;

	if (cpu == MAP_NONE)
		return refuse(why, "map: %s: its cpu names no node of /cpus", a->name);
	cluster = map_cluster_of_cpu(map, (uint32_t)cpu);
	if (cluster == NULL)
		return refuse(why, "map: %s: %s is in no cluster", a->name, map->cpu[cpu].name);
	if (!has_module(cluster, a->program))
		return refuse(why, "map: %s: program %s is not among the modules of %s", a->name, a->program,
			      cluster->name);
	if (fdt_getprop(map->fdt, a->node, "statistics", NULL) != NULL && (!cluster->devices || cluster->machine != 0))
		return refuse(why, "map: %s has statistics, which %s does not collect: it has not the devices%s", a->name,
			      cluster->name, cluster->machine ? " of machine 0" : "");
	if (!map_is_here(map, cluster))
		return true;
	module = machine_module(machine, a->program);
	return module != NULL && elf_read(&elf, module->data, module->size, a->program, why);
}

static bool check_await(const struct map *map, const struct map_application *a, struct refusal *why)
{
	int size, count = 0;

	if (fdt_getprop(map->fdt, a->node, "await", &size) != NULL && size != 0)
		count = fdt_stringlist_count(map->fdt, a->node, "await");
	if (count < 0)
		return refuse(why, "map: %s: await is not a list of strings", a->name);
	for (int i = 0; i < count; i++) {
		const char *name = fdt_stringlist_get(map->fdt, a->node, "await", i, &size);

		if (strcmp(name, a->name) == 0)
			return refuse(why, "map: %s awaits itself", a->name);
		if (!has_application(map, name))
			return refuse(why, "map: %s awaits %s, which is no application", a->name, name);
	}
	return true;
}

/* Whether all that `a` awaits are among the `started`. */
static bool can_start(const struct map *map, const struct map_application *a, const bool *started)
{
	int size;

	for (int i = 0;; i++) {
		const char *name = fdt_stringlist_get(map->fdt, a->node, "await", i, &size);

		if (name == NULL)
			return true;
		for (uint32_t j = 0; j < map->application_count; j++)
			if (!started[j] && strcmp(map->application[j].name, name) == 0)
				return false;
	}
}

/* Starts all that can be started until nothing more can; who is left awaits itself through others. */
static bool check_circles(const struct map *map, struct refusal *why)
{
	static bool started[MAP_MAX_APPLICATIONS];
	bool more = true;

	memset(started, 0, sizeof started);
	while (more) {
		more = false;
		for (uint32_t i = 0; i < map->application_count; i++)
			if (!started[i] && can_start(map, &map->application[i], started))
				more = started[i] = true;
	}
	for (uint32_t i = 0; i < map->application_count; i++)
		if (!started[i])
			return refuse(why, "map: %s can never start: what it awaits awaits it", map->application[i].name);
	return true;
}

static bool check_unique(const struct map_application *a, const struct map_application *other, struct refusal *why)
{
	if (strcmp(a->name, other->name) == 0)
		return refuse(why, "map: there are two applications %s", a->name);
	if (a->ipv4 != 0 && a->ipv4 == other->ipv4)
		return refuse(why, "map: %s and %s have the same ipv4 %u.%u.%u.%u", other->name, a->name,
			      a->ipv4 >> 24, a->ipv4 >> 16 & 255, a->ipv4 >> 8 & 255, a->ipv4 & 255);
	if (a->mac != NULL && other->mac != NULL && memcmp(a->mac, other->mac, 6) == 0)
		return refuse(why, "map: %s and %s have the same mac", other->name, a->name);
	return true;
}

static bool check_heaps(const struct map *map, const struct map_cluster *cluster, struct refusal *why)
{
	uint64_t heaps = 0, memory = 0;

	for (uint32_t i = 0; i < cluster->memory_count; i++)
		memory += cluster->memory[i].size;
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];
		int cpu = map_cpu_by_phandle(map, a->phandle);

		if (map_cluster_of_cpu(map, (uint32_t)cpu) != cluster)
			continue;
		if (a->heap > memory - heaps)
			return refuse(why, "map: %s: its heap of %lu MiB is more than %s has left of its %lu MiB",
				      a->name, a->heap / MIB, cluster->name, memory / MIB);
		heaps += a->heap;
	}
	return true;
}

bool map_check_applications(const struct map *map, const struct machine *machine, struct refusal *why)
{
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		for (uint32_t j = 0; j < i; j++)
			if (!check_unique(a, &map->application[j], why))
				return false;
		if (a->heap == 0 || a->heap % HEAP_ALIGN != 0)
			return refuse(why, "map: %s: heap 0x%lx is not a multiple of 2 MiB", a->name, a->heap);
		if (!check_place(map, a, machine, why) || !check_await(map, a, why))
			return false;
	}
	if (!check_circles(map, why))
		return false;
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (!check_heaps(map, &map->cluster[i], why))
			return false;
	return true;
}
