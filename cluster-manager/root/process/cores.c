/* SPDX-License-Identifier: BSD-2-Clause */
#include "cores.h"
#include "map.h"
#include "root.h"

static struct gained_core gained[BOOT_MAX_CPUS];
static uint32_t gained_count;
static uint32_t used[MAP_MAX_APPLICATIONS]; /* by application: 1 + the core that it runs on; 0: it does not run */

void core_use(uint32_t application, uint32_t index) { used[application] = index + 1; }
void core_ended(uint32_t application) { used[application] = 0; }
uint32_t core_of(uint32_t application) { return used[application] - 1; }

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

/* Another program than this one runs there. */
static bool is_taken(uint32_t index, uint32_t application)
{
	for (uint32_t i = 0; i < map->application_count; i++)
		if (i != application && used[i] == index + 1)
			return true;
	return false;
}

struct gained_core core_choose(uint32_t application)
{
	const struct map_application *a = &map->application[application];
	if (a->role == MAP_PROGRAM && is_taken(a->core, application))
		for (uint32_t i = 0; i < gained_count; i++)
			if (!is_taken(gained[i].index, application))
				return gained[i];
	return (struct gained_core){ a->core, a->cpu };
}

bool core_has_programs(uint32_t index)
{
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];
		if (a->cluster == ROOT->cluster && (a->core == index || used[i] == index + 1))
			return true;
	}
	return false;
}
