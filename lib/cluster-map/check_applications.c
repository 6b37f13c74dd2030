/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the programs that the managers will start: each has a core of its cluster, and no address is used twice. */
#include <stddef.h>
#include <string.h>

#include "draft.h"

enum { AUXILIARY = 512 }; /* bytes at most, beside arguments */

static bool has_module(const struct map_cluster *cluster, const char *name)
{
	for (uint32_t i = 0; i < cluster->module_count; i++)
		if (strcmp(cluster->module[i], name) == 0)
			return true;
	return false;
}

static bool check_place(const struct cluster_map *map, const struct map_application *a, struct error_message *err)
{
	const struct map_cluster *cluster = map_cluster(map, a->cluster);

	if (!has_module(cluster, a->program))
		return error_set_at(err, a->name, "program", "map: %s: program %s is not among the modules of %s",
		                    a->name,
				 a->program, cluster->name);
	if (a->files[0] != '\0' && !has_module(cluster, a->files))
		return error_set_at(err, a->name, "files", "map: %s: files %s are not among the modules of %s", a->name,
				 a->files, cluster->name);
	if (a->statistics && (!cluster->devices || cluster->machine != 0))
		return error_set_at(err, a->name, "statistics",
				 "map: %s has statistics, which %s does not collect: it has not the devices%s", a->name,
				 cluster->name, cluster->machine ? " of machine 0" : "");
	return true;
}

static bool check_heap(const struct map_application *a, struct error_message *err)
{
	if (a->heap == 0 || a->heap % MAP_HUGE_PAGE != 0)
		return error_set_at(err, a->name, "heap", "map: %s: heap 0x%lx is not a multiple of 2 MiB", a->name,
		                    a->heap);
	if (a->heap > PROCESS_PORT_VADDR - PROCESS_HEAP_VADDR)
		return error_set_at(err, a->name, "heap",
				 "map: %s: heap 0x%lx is more than a program has addresses for, 0x%lx", a->name,
				 a->heap, (uint64_t)(PROCESS_PORT_VADDR - PROCESS_HEAP_VADDR));
	if (a->storage > a->heap)
		return error_set_at(err, a->name, "storage", "map: %s: storage 0x%lx is more than its heap, 0x%lx",
		                    a->name,
				 a->storage, a->heap);
	return true;
}

/* Checks that a family of processes is of a program with neither several cores nor what children cannot share. */
static bool check_processes(const struct map_application *a, struct error_message *err)
{
	if (a->processes == 0 || a->processes > PROCESS_MEMBERS)
		return error_set_at(err, a->name, "processes", "map: %s: processes are from 1 to %u, not %u", a->name,
		                    PROCESS_MEMBERS, a->processes);
	if (a->processes == 1)
		return true;
	if (a->role != MAP_PROGRAM || map_cores_of(a) > 1)
		return error_set_at(err, a->name, "processes",
		                    "map: %s: %u processes are for a program of one core",
		                    a->name, a->processes);
	return true;
}

/* The user, the group and the folder that it starts with, and its threads. */
static bool check_start(const struct cluster_map *map, const struct map_application *a, struct error_message *err)
{
	if (a->uid > MAP_MAX_USER || a->gid > MAP_MAX_USER)
		return error_set_at(err, a->name, "user", "map: %s: user %u, group %u: numbers are up to %u", a->name,
		                    a->uid,
				 a->gid, MAP_MAX_USER);
	if (a->threads == 0 || a->threads > PROCESS_THREADS)
		return error_set_at(err, a->name, "threads", "map: %s: threads are from 1 to %u, not %u", a->name,
		                    PROCESS_THREADS,
				 a->threads);
	if (a->cwd.size > 0 && *(const char *)map_bytes(map, &a->cwd) != '/')
		return error_set_at(err, a->name, "cwd", "map: %s: cwd is not an absolute path", a->name);
	return true;
}

static bool check_restart(const struct map_application *a, struct error_message *err)
{
	if (a->restart != MAP_RESTART_NEVER && a->role != MAP_PROGRAM)
		return error_set_at(err, a->name, "restart", "map: %s: a switch or a driver is not started again",
		                    a->name);
	if (a->restart_limit > MAP_RESTART_LIMIT_MAX)
		return error_set_at(err, a->name, "restart-limit", "map: %s: restart-limit is up to %u, not %u",
		                    a->name,
				 MAP_RESTART_LIMIT_MAX, a->restart_limit);
	if (a->restart_delay > MAP_RESTART_DELAY_MAX)
		return error_set_at(err, a->name, "restart-delay", "map: %s: restart-delay is up to %u ms, not %u",
		                    a->name,
				 MAP_RESTART_DELAY_MAX, a->restart_delay);
	return true;
}

/* Returns whether all that `a` awaits are among the `started`. */
static bool can_start(const struct cluster_map *map, const struct map_application *a, const bool *started)
{
	for (uint32_t i = 0; i < map_await_count(a); i++)
		if (!started[map_awaited(map, a, i)])
			return false;
	return true;
}

/* Starts all that can be started until nothing more can; what is left awaits itself through others. */
static bool check_circles(const struct cluster_map *map, struct error_message *err)
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
			return error_set_at(err, map->application[i].name, "await",
					 "map: %s can never start: what it awaits awaits it", map->application[i].name);
	return true;
}

/* No two have the same address, or MAC. */
static bool check_unique(const struct cluster_map *map, uint32_t index, struct key_table *addresses,
                         struct key_table *stations, struct error_message *err)
{
	const struct map_application *a = &map->application[index];
	const struct map_application *other = a->ipv4 != 0 ? key_enter(map, addresses, index) : NULL;

	if (other != NULL)
		return error_set_at(err, a->name, "ipv4", "map: %s and %s have the same ipv4 %u.%u.%u.%u", other->name,
				 a->name, MAP_IPV4(a->ipv4));
	other = a->has_mac ? key_enter(map, stations, index) : NULL;
	if (other != NULL)
		return error_set_at(err, a->name, "mac", "map: %s and %s have the same mac", other->name, a->name);
	return true;
}

/* With what their cluster's programs have in all, heaps fit into its memory. */
static bool check_heaps(const struct cluster_map *map, const struct map_cluster *cluster, struct error_message *err)
{
	const struct map_application *largest = NULL;
	uint64_t heaps = 0, memory = 0;

	for (uint32_t i = 0; i < cluster->memory_count; i++)
		memory += cluster->memory[i].size;
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		if (a->cluster != cluster->number)
			continue;
		heaps += a->heap * a->processes; /* less than 2^51 each: no overflow */
		if (largest == NULL || largest->heap * largest->processes < a->heap * a->processes)
			largest = a;
	}
	if (largest == NULL || heaps < memory)
		return true;
	error_set_at(err, cluster->name, "memory",
	             "map: %s: heaps of %lu MiB do not fit into its %lu MiB (largest: %s)",
		  cluster->name, heaps / MAP_MIB, memory / MAP_MIB, largest->name);
	err->cause = largest->name;
	err->cause_property = "heap";
	return false;
}

/* They are on the program's stack when it starts, with a pointer to each, and the auxiliary vector beside them. */
static bool check_arguments(const struct cluster_map *map, const struct map_application *a, struct error_message *err)
{
	uint64_t room = MAP_ARGUMENT_PAGES * 4096 - AUXILIARY, count = 1, variables = 0, size;

	for (const char *s = NULL; (s = map_next_string(map, &a->args, s)) != NULL;)
		count++;
	if (count > MAP_MAX_ARGUMENTS)
		return error_set_at(err, a->name, "args", "map: %s: %lu arguments are more than %u", a->name, count - 1,
				 MAP_MAX_ARGUMENTS - 1);
	for (const char *s = NULL; (s = map_next_string(map, &a->env, s)) != NULL; variables++) {
		const char *sign = strchr(s, '=');

		if (sign == NULL || sign == s)
			return error_set_at(err, a->name, "env", "map: %s: env \"%s\" is not NAME=VALUE", a->name, s);
	}
	if (variables > MAP_MAX_VARIABLES)
		return error_set_at(err, a->name, "env", "map: %s: %lu variables are more than %u", a->name, variables,
				 MAP_MAX_VARIABLES);
	size = strlen(a->program) + 1 + a->args.size + a->env.size + a->cwd.size + 8 * (count + variables);
	for (uint32_t i = 0; i < map_named_count(&a->volumes); i++)
		size += map->application[map_named(map, &a->volumes, i)].mount.size;
	return size <= room || error_set_at(err, a->name, a->env.size > a->args.size ? "env" : "args",
					 "map: %s: its arguments and its environment take %lu bytes, and a program has "
					 "room for %lu", a->name,
					 size, room);
}

bool check_applications(const struct draft *d)
{
	static struct key_table addresses, stations;
	const struct cluster_map *map = d->map;

	addresses = (struct key_table){ .offset = offsetof(struct map_application, ipv4), .size = sizeof(uint32_t) };
	stations = (struct key_table){ .offset = offsetof(struct map_application, mac),
	                               .size = sizeof map->application->mac };
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		if (!check_unique(map, i, &addresses, &stations, d->err) || !check_heap(a, d->err) ||
		    !check_place(map, a, d->err) || !check_start(map, a, d->err) || !check_restart(a, d->err) ||
		    !check_processes(a, d->err) || !check_arguments(map, a, d->err))
			return false;
	}
	if (!check_circles(map, d->err))
		return false;
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (!check_heaps(map, &map->cluster[i], d->err))
			return false;
	return true;
}
