/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "cores.h"
#include "map.h"
#include "root.h"

static struct gained_core gained[BOOT_MAX_CPUS];
static uint32_t gained_count;
/* by application: 1 + the core of its first thread; 0: it does not run */
static uint32_t used[MAP_MAX_APPLICATIONS];

void core_use(uint32_t application, uint32_t index) { used[application] = index + 1; }
void core_ended(uint32_t application) { used[application] = 0; }
uint32_t core_of(uint32_t application) { return used[application] - 1; }

struct gained_core core_now(uint32_t application)
{
	const struct map_application *a = &map->application[application];
	const uint32_t index = core_of(application);
	for (uint32_t i = 0; i < gained_count; i++)
		if (gained[i].index == index)
			return gained[i];
	return (struct gained_core){ index, a->cpu };
}

void core_gained(uint32_t index, uint32_t cpu)
{
	core_given_up(index);
	if (gained_count < BOOT_MAX_CPUS)
		gained[gained_count++] = (struct gained_core){ index, cpu };
}

void core_given_up(uint32_t index)
{
	for (uint32_t i = 0; i < gained_count; i++)
		if (gained[i].index == index)
			gained[i--] = gained[--gained_count];
}

/* Returns whether a program has threads on that core, or may have. */
static bool runs_on(uint32_t application, uint32_t index)
{
	const struct map_application *a = &map->application[application];
	if (!used[application])
		return false;
	return map_cores_of(a) > 1 ? map_uses_core(map, a, index) : used[application] == index + 1;
}

/* Another program than this one runs there. */
static bool is_taken(uint32_t index, uint32_t application)
{
	for (uint32_t i = 0; i < map->application_count; i++)
		if (i != application && runs_on(i, index))
			return true;
	return false;
}

struct gained_core core_choose(uint32_t application)
{
	const struct map_application *a = &map->application[application];
	if (a->role == MAP_PROGRAM && map_cores_of(a) == 1 && is_taken(a->core, application))
		for (uint32_t i = 0; i < gained_count; i++)
			if (!is_taken(gained[i].index, application))
				return gained[i];
	return (struct gained_core){ a->core, a->cpu };
}

static struct process_core describe(uint32_t index, uint32_t cpu)
{
	return (struct process_core){ (uint16_t)index, (uint16_t)cpu, (uint16_t)map->cpu[cpu].node };
}

uint32_t cores_list(uint32_t application, struct gained_core first, struct process_core cores[PROCESS_CORES])
{
	const struct map_application *a = &map->application[application];
	const struct map_cluster *own = map_cluster(map, a->cluster);
	const uint32_t count = map_cores_of(a);
	require(count && count <= PROCESS_CORES && (count == 1 || first.index == a->core));
	cores[0] = describe(first.index, first.cpu);
	for (uint32_t i = 1; i < count; i++) {
		const uint32_t index = map_named(map, &a->cores, i);
		require(index < own->cpu_count);
		cores[i] = describe(index, own->cpu[index]);
	}
	return count;
}

bool core_has_programs(uint32_t index)
{
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];
		if (a->cluster == ROOT->cluster && (map_uses_core(map, a, index) || runs_on(i, index)))
			return true;
	}
	return false;
}
