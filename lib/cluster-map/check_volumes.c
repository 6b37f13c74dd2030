/* SPDX-License-Identifier: BSD-2-Clause */
/* Volumes: each has a server, which has a device, and one program. */
#include <string.h>

#include "draft.h"

enum { NAME_MOST = 255 }; /* bytes */

/* Returns whether the text is an absolute path without "." and "..", of names of which none is empty. */
static bool is_path(const char *path)
{
	if (path[0] != '/' || path[1] == '\0')
		return false;
	while (*path++ != '\0') {
		size_t length = 0, dots = 0;

		while (path[length] != '\0' && path[length] != '/')
			dots += path[length++] == '.';
		if (length == 0 || length > NAME_MOST || (length <= 2 && dots == length))
			return false;
		path += length;
		if (*path == '\0')
			return true;
	}
	return true;
}

static const char *mount_of(const struct cluster_map *map, const struct map_application *server)
{
	return map_bytes(map, &server->mount);
}

/* Returns whether a path is another one, or below it. */
static bool is_within(const char *path, const char *other)
{
	const size_t length = strlen(other);

	return strncmp(path, other, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool check_server(const struct cluster_map *map, const struct map_application *a, struct error_message *err)
{
	const struct map_cluster *home = map_cluster(map, a->cluster);

	if ((a->role == MAP_VOLUME) != (a->mount.size != 0))
		return error_set_at(err, a->name, "mount", "map: %s: a volume server has mount, and nothing else has",
		                    a->name);
	if (a->role != MAP_VOLUME)
		return true;
	if (!is_path(mount_of(map, a)))
		return error_set_at(err, a->name, "mount", "map: %s: mount \"%s\" is no absolute path in the machine",
		                    a->name, mount_of(map, a));
	return (home->devices && home->machine == 0) ||
	       error_set_at(err, a->name, "role", "map: %s drives a device, but %s has none", a->name, home->name);
}

/* Joins a program to the server of one of its volumes. `index`: which of the program's volumes that is. */
static bool join_volume(struct cluster_map *map, uint32_t program, uint32_t index, struct error_message *err)
{
	const struct map_application *a = &map->application[program];
	struct map_application *server = &map->application[map_named(map, &a->volumes, index)];

	if (server->role != MAP_VOLUME || a->role != MAP_PROGRAM)
		return error_set_at(err, a->name, "volumes", "map: %s: %s is no volume of a program", a->name,
		                    server->name);
	if (server->cluster != a->cluster)
		return error_set_at(err, a->name, "volumes",
		                    "map: %s: the server of its volume, %s, is in another cluster", a->name,
		                    server->name);
	if (server->volume_of != MAP_NONE)
		return error_set_at(err, a->name, "volumes", "map: %s and %s have the same volume %s",
		                    map->application[server->volume_of].name, a->name, server->name);
	server->volume_of = (int32_t)program;
	for (uint32_t i = 0; i < index; i++) {
		const struct map_application *other = &map->application[map_named(map, &a->volumes, i)];

		if (is_within(mount_of(map, other), mount_of(map, server)) ||
		    is_within(mount_of(map, server), mount_of(map, other)))
			return error_set_at(err, server->name, "mount", "map: %s: volumes of %s at \"%s\" and \"%s\"",
			                    server->name, a->name, mount_of(map, other), mount_of(map, server));
	}
	return true;
}

bool check_volumes(struct draft *d)
{
	struct cluster_map *map = d->map;

	for (uint32_t i = 0; i < map->application_count; i++)
		if (!check_server(map, &map->application[i], d->err))
			return false;
	for (uint32_t i = 0; i < map->application_count; i++) {
		const uint32_t count = map_named_count(&map->application[i].volumes);

		if (count > PROCESS_MAX_VOLUMES)
			return error_set_at(d->err, map->application[i].name, "volumes",
			                    "map: %s has %u volumes: there may be %u", map->application[i].name, count,
			                    PROCESS_MAX_VOLUMES);
		for (uint32_t k = 0; k < count; k++)
			if (!join_volume(map, i, k, d->err))
				return false;
	}
	for (uint32_t i = 0; i < map->application_count; i++)
		if (map->application[i].role == MAP_VOLUME && map->application[i].volume_of == MAP_NONE)
			return error_set_at(d->err, map->application[i].name, NULL, "map: %s is nobody's volume",
			                    map->application[i].name);
	return true;
}
