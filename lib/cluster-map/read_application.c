/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes of applications, and those that they name. */
#include <libfdt.h>
#include <string.h>

#include "draft.h"

int find_application(const struct draft *d, const char *name)
{
	char key[PROCESS_NAME] = { 0 };

	if (strlen(name) >= sizeof key)
		return MAP_NONE;
	strcpy(key, name);
	return key_find(d->map, &d->names, key);
}

/* Finds the cluster of a cpu, and its index there. check_clusters() has seen that it is of one only. */
static const struct map_cluster *find_core(const struct cluster_map *map, uint32_t cpu, uint32_t *index)
{
	for (uint32_t c = 0; c < map->cluster_count; c++)
		for (*index = 0; *index < map->cluster[c].cpu_count; ++*index)
			if (map->cluster[c].cpu[*index] == cpu)
				return &map->cluster[c];
	return NULL;
}

/* Reads one cell of `cpu`: a core of the same cluster as those before it, and none of them. */
static bool read_core(struct draft *d, struct map_application *a, uint32_t phandle, uint16_t *cores, uint32_t count)
{
	const struct cluster_map *map = d->map;
	const struct map_cluster *cluster;
	uint32_t index;
	int cpu = cpu_by_phandle(d, phandle);

	if (cpu == MAP_NONE)
		return error_set_at(d->err, a->name, "cpu", "map: %s: its cpu names no node of /cpus", a->name);
	cluster = find_core(map, (uint32_t)cpu, &index);
	if (cluster == NULL)
		return error_set_at(d->err, a->name, "cpu", "map: %s: %s is in no cluster", a->name,
		                    map->cpu[cpu].name);
	if (count == 0) {
		a->cpu = (uint32_t)cpu;
		a->cluster = cluster->number;
		a->core = index;
	}
	if (cluster->number != a->cluster)
		return error_set_at(d->err, a->name, "cpu",
		                    "map: %s: %s is of %s and %s of cluster@%x: a program's cores are of one cluster",
		                    a->name, map->cpu[cpu].name, cluster->name, map->cpu[a->cpu].name, a->cluster);
	for (uint32_t i = 0; i < count; i++)
		if (cores[i] == index)
			return error_set_at(d->err, a->name, "cpu", "map: %s: it has %s twice", a->name,
			                    map->cpu[cpu].name);
	cores[count] = (uint16_t)index;
	return true;
}

static bool read_placement(struct draft *d, int node, struct map_application *a)
{
	const char *placement;

	if (!read_option(d, node, "placement", &placement))
		return false;
	if (placement == NULL)
		return true;
	if (strcmp(placement, "first") != 0 && strcmp(placement, "spread") != 0)
		return error_set_at(d->err, a->name, "placement",
		                    "map: %s: placement \"%s\" is neither spread nor first", a->name, placement);
	a->placement = placement[0] == 'f' ? PROCESS_FIRST : PROCESS_SPREAD;
	return true;
}

/* Its cores. Only programs have several: the others' memory and interrupts are of one. */
static bool read_place(struct draft *d, int node, struct map_application *a)
{
	uint16_t cores[PROCESS_CORES];
	uint32_t count;
	int size;
	const fdt32_t *cell = fdt_getprop(d->fdt, node, "cpu", &size);

	if (cell == NULL)
		return error_set_at(d->err, a->name, "cpu", "map: %s has no cpu", a->name);
	if (size == 0 || size % 4 != 0)
		return error_set_at(d->err, a->name, "cpu", "map: %s: cpu is not a list of phandles", a->name);
	count = (uint32_t)size / 4;
	if (count > PROCESS_CORES || (count > 1 && a->role != MAP_PROGRAM))
		return error_set_at(d->err, a->name, "cpu", "map: %s: %u cores are more than the %u that %s can have",
		                    a->name, count, a->role != MAP_PROGRAM ? 1 : PROCESS_CORES,
		                    a->role != MAP_PROGRAM ? "a switch or a driver" : "a program");
	for (uint32_t i = 0; i < count; i++)
		if (!read_core(d, a, fdt32_ld(cell + i), cores, i))
			return false;
	a->cores = pool_add(d, cores, count * (uint32_t)sizeof *cores);
	return read_placement(d, node, a);
}

static bool read_role(struct draft *d, int node, struct map_application *a)
{
	const char *role;

	if (!read_option(d, node, "role", &role))
		return false;
	if (role == NULL)
		return true;
	if (strcmp(role, "switch") != 0 && strcmp(role, "nic") != 0 && strcmp(role, "volume") != 0)
		return error_set_at(d->err, a->name, "role", "map: %s: role \"%s\" is neither switch, nic nor volume",
		                    a->name, role);
	a->role = role[0] == 's' ? MAP_SWITCH : role[0] == 'n' ? MAP_NIC : MAP_VOLUME;
	return true;
}

static bool read_restart(struct draft *d, int node, struct map_application *a)
{
	static const char *const name[] = {
		[MAP_RESTART_NEVER] = "never", [MAP_RESTART_ON_FAILURE] = "on-failure", [MAP_RESTART_ALWAYS] = "always",
	};
	const char *restart;

	a->restart_limit = MAP_RESTART_LIMIT;
	a->restart_delay = MAP_RESTART_DELAY;
	if (!read_option(d, node, "restart", &restart))
		return false;
	for (unsigned i = 0; restart != NULL && i < sizeof(name) / sizeof(name[0]); i++)
		if (strcmp(restart, name[i]) == 0) {
			a->restart = (enum map_restart)i;
			restart = NULL;
		}
	if (restart != NULL)
		return error_set_at(d->err, a->name, "restart",
		                    "map: %s: restart \"%s\" is neither never, on-failure nor always",
				 a->name, restart);
	return (!has_property(d, node, "restart-limit") || read_u32(d, node, "restart-limit", &a->restart_limit)) &&
	       (!has_property(d, node, "restart-delay") || read_u32(d, node, "restart-delay", &a->restart_delay));
}

/* Properties of fixed size. */
static bool read_values(struct draft *d, int node, struct map_application *a)
{
	int size;
	const void *p = fdt_getprop(d->fdt, node, "heap", &size);

	if (p != NULL && size != 8)
		return error_set_at(d->err, a->name, "heap", "map: %s: heap is not one size of two cells", a->name);
	if (p != NULL)
		a->heap = fdt64_ld(p);
	p = fdt_getprop(d->fdt, node, "storage", &size);
	if (p != NULL && size != 8)
		return error_set_at(d->err, a->name, "storage", "map: %s: storage is not one size of two cells",
		                    a->name);
	if (p != NULL)
		a->storage = fdt64_ld(p);
	p = fdt_getprop(d->fdt, node, "mac", &size);
	a->has_mac = p != NULL;
	if (a->has_mac && size != 6)
		return error_set_at(d->err, a->name, "mac", "map: %s: mac is not six bytes", a->name);
	if (a->has_mac)
		memcpy(a->mac, p, 6);
	return read_flag(d, node, "barrier", &a->barrier) && read_flag(d, node, "statistics", &a->statistics) &&
	       read_ipv4(d, node, "ipv4", &a->ipv4);
}

/* The user and the group that it starts as, and how many threads and processes it may have. */
static bool read_limits(struct draft *d, int node, struct map_application *a)
{
	int size;
	const fdt32_t *p = fdt_getprop(d->fdt, node, "user", &size);

	if (p != NULL && size != 8)
		return error_set_at(d->err, a->name, "user", "map: %s: user is not a uid and a gid, of a cell each",
		                    a->name);
	if (p != NULL) {
		a->uid = fdt32_ld(p);
		a->gid = fdt32_ld(p + 1);
	}
	a->threads = PROCESS_THREADS;
	a->processes = 1;
	return (!has_property(d, node, "threads") || read_u32(d, node, "threads", &a->threads)) &&
	       (!has_property(d, node, "processes") || read_u32(d, node, "processes", &a->processes));
}

/* Where its files are and where it starts among them; of a volume server, where its program has the volume. */
static bool read_paths(struct draft *d, int node, struct map_application *a)
{
	const char *cwd, *mount;

	if (has_property(d, node, "files") && !read_name(d, node, "files", a->files))
		return false;
	if (!read_option(d, node, "cwd", &cwd))
		return false;
	if (cwd != NULL)
		a->cwd = pool_add(d, cwd, (uint32_t)strlen(cwd) + 1);
	if (!read_option(d, node, "mount", &mount))
		return false;
	if (mount != NULL)
		a->mount = pool_add(d, mount, (uint32_t)strlen(mount) + 1);
	return true;
}

static bool read_lists(struct draft *d, int node, struct map_application *a)
{
	const char *args, *env;
	uint32_t args_size, env_size;
	int size;
	const void *ids = fdt_getprop(d->fdt, node, "pci-id", &size);

	if (ids != NULL && (size == 0 || size % 8 != 0))
		return error_set_at(d->err, a->name, "pci-id", "map: %s: pci-id is not pairs of vendor and device",
		                    a->name);
	if (!read_strings(d, node, "args", &args, &args_size) || !read_strings(d, node, "env", &env, &env_size))
		return false;
	a->pci_id = pool_add(d, ids, ids == NULL ? 0 : (uint32_t)size);
	a->args = pool_add(d, args, args_size);
	a->env = pool_add(d, env, env_size);
	return true;
}

static bool read_application(struct draft *d, int node)
{
	struct cluster_map *map = d->map;
	struct map_application *a = &map->application[map->application_count];
	struct draft_application *draft = &d->application[map->application_count];
	const char *name = node_name(d, node);

	if (map->application_count == MAP_MAX_APPLICATIONS)
		return error_set_at(d->err, name, NULL, "map: %s: more than %u applications", name,
		                    MAP_MAX_APPLICATIONS);
	if (strlen(name) >= PROCESS_NAME)
		return error_set_at(d->err, name, NULL, "map: the application %s has a name of more than %u bytes",
		                    name,
				 PROCESS_NAME - 1);
	memset(a, 0, sizeof *a);
	strcpy(a->name, name);
	if (key_enter(map, &d->names, map->application_count) != NULL)
		return error_set_at(d->err, name, NULL, "map: there are two applications %s", name);
	a->stack = a->stack_of = a->volume_of = a->port_of = MAP_NONE;
	draft->node = node;
	if (!read_name(d, node, "program", a->program) || !read_role(d, node, a) || !read_place(d, node, a) ||
	    !read_restart(d, node, a) ||
	    !read_values(d, node, a) || !read_limits(d, node, a) || !read_paths(d, node, a) ||
	    !read_lists(d, node, a) ||
	    !read_option(d, node, "stack", &draft->stack) || !read_option(d, node, "switch", &draft->above))
		return false;
	map->application_count++;
	return true;
}

/*
 * Finds the applications that a property of `a` names: each other than `a`, and named once. `does`: verb for the error.
 */
static bool join_named(struct draft *d, int node, const struct map_application *a, const char *property,
                       const char *does,
		       struct map_list *out)
{
	uint16_t named[MAP_MAX_AWAITED];
	uint32_t count = 0, size;
	const char *names;

	if (!read_strings(d, node, property, &names, &size))
		return false;
	for (uint32_t at = 0; at < size; at += (uint32_t)strlen(names + at) + 1) {
		int other = find_application(d, names + at);

		if (other == MAP_NONE)
			return error_set_at(d->err, a->name, property, "map: %s %s %s, which is no application",
			                    a->name, does,
					 names + at);
		if (a == &d->map->application[other])
			return error_set_at(d->err, a->name, property, "map: %s %s itself", a->name, does);
		for (uint32_t i = 0; i < count; i++)
			if (named[i] == other)
				return error_set_at(d->err, a->name, property, "map: %s %s %s twice", a->name, does,
				                    names + at);
		if (count == MAP_MAX_AWAITED)
			return error_set_at(d->err, a->name, property, "map: %s %s more than %u applications", a->name,
			                    does,
					 MAP_MAX_AWAITED);
		named[count++] = (uint16_t)other;
	}
	*out = pool_add(d, named, count * (uint32_t)sizeof *named);
	return true;
}

bool read_applications(struct draft *d)
{
	d->names.offset = offsetof(struct map_application, name);
	d->names.size = sizeof d->map->application->name;
	if (!read_children(d, "applications", false, read_application))
		return false;
	for (uint32_t i = 0; i < d->map->application_count; i++) {
		struct map_application *a = &d->map->application[i];

		if (!join_named(d, d->application[i].node, a, "await", "awaits", &a->await) ||
		    !join_named(d, d->application[i].node, a, "cables", "has a cable to", &a->cables) ||
		    !join_named(d, d->application[i].node, a, "volumes", "has volume", &a->volumes))
			return false;
	}
	return true;
}
