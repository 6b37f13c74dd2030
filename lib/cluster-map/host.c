/* SPDX-License-Identifier: BSD-2-Clause */
/* For the host's tool, which loads this as a shared library (topology/maps/reader.py): maps and refusals as JSON. */
#include <libfdt.h>
#include <string.h>

#include <skerry/format.h>

#include "draft.h"
#include "read.h"

/* no property becomes more than 6 times as long, and a node's fixed members are below 512 bytes */
enum { ROOM = 16 * MAP_MAX_SIZE };

static char json[ROOM];

/* A value or a member, after the comma that parts it from what stands before it in the same object or list. */
__attribute__((format(printf, 2, 3))) static void put(struct text *out, const char *format, ...)
{
	char last = out->length > 0 ? out->data[out->length - 1] : '{';
	va_list arguments;

	if (last != '{' && last != '[')
		text_bytes(out, ",", 1);
	va_start(arguments, format);
	text_vformat(out, format, arguments);
	va_end(arguments);
}

/* Ends an object or a list. */
static void text_close(struct text *out, const char *bracket)
{
	text_bytes(out, bracket, 1);
}

static void put_string(struct text *out, const char *string)
{
	put(out, "%s", "");
	text_json_string(out, string);
}

/* A member; left out where there is no string. */
static void put_text(struct text *out, const char *name, const char *string)
{
	if (string == NULL || string[0] == '\0')
		return;
	put(out, "\"%s\":", name);
	text_json_string(out, string);
}

static const char *truth_of(bool value)
{
	return value ? "true" : "false";
}

static void put_strings(struct text *out, const struct cluster_map *map, const char *name, const struct map_list *list)
{
	put(out, "\"%s\":[", name);
	for (const char *s = NULL; (s = map_next_string(map, list, s)) != NULL;)
		put_string(out, s);
	text_close(out, "]");
}

static void put_cluster(struct text *out, const struct map_cluster *cluster)
{
	put(out, "{\"number\":%u,\"devices\":%s,\"restart\":%s", cluster->number, truth_of(cluster->devices),
	    truth_of(cluster->restart));
	put(out, "\"spare_cores\":%s,\"homed\":%s", truth_of(cluster->spare_cores), truth_of(cluster->homed));
	put(out, "\"restart_limit\":%u,\"restart_delay\":%u", cluster->restart_limit, cluster->restart_delay);
	put_text(out, "granularity", cluster->granularity == GRANULARITY_FINE ? "fine" : "coarse");
	put_text(out, "kernel", cluster->kernel);
	put_text(out, "root", cluster->root);
	put(out, "\"cpus\":[");
	for (uint32_t i = 0; i < cluster->cpu_count; i++)
		put(out, "%u", cluster->cpu[i]);
	text_close(out, "]");
	put(out, "\"memory\":[");
	for (uint32_t i = 0; i < cluster->memory_count; i++)
		put(out, "[%lu,%lu]", cluster->memory[i].base, cluster->memory[i].size);
	text_close(out, "]");
	put(out, "\"modules\":[");
	for (uint32_t i = 0; i < cluster->module_count; i++)
		put_string(out, cluster->module[i]);
	text_close(out, "]");
	text_close(out, "}");
}

static void put_channel(struct text *out, const struct map_channel *channel)
{
	put(out, "{\"number\":%u,\"ends\":[%u,%u],\"memory\":[%lu,%lu]", channel->number, channel->end[0],
	    channel->end[1], channel->memory.base, channel->memory.size + (channel->remote ? MAP_KERNELS_PART : 0));
	if (channel->remote)
		put(out, "\"ivshmem\":[%u,%u]", channel->device[0], channel->device[1]);
	text_close(out, "}");
}

/* Returns the switch that the application names; one with a port of the root switch need not. */
static const char *named_switch(const struct cluster_map *map, const struct map_application *a)
{
	if (a->port_of == MAP_NONE || (a->port_of == map->switch_index && a->role != MAP_SWITCH))
		return NULL;
	return map->application[a->port_of].name;
}

/* Places of its cores among all cpus, where it has several. */
static void put_cores(struct text *out, const struct cluster_map *map, const struct map_application *a)
{
	if (map_cores_of(a) < 2)
		return;
	put(out, "\"cpus\":[");
	for (uint32_t i = 0; i < map_cores_of(a); i++)
		put(out, "%u", map_cluster(map, a->cluster)->cpu[map_named(map, &a->cores, i)]);
	text_close(out, "]");
}

/* Applications that this one names. */
static void put_named(struct text *out, const struct cluster_map *map, const char *name, const struct map_list *list)
{
	put(out, "\"%s\":[", name);
	for (uint32_t i = 0; i < map_named_count(list); i++)
		put_string(out, map->application[map_named(map, list, i)].name);
	text_close(out, "]");
}

static void put_lists(struct text *out, const struct cluster_map *map, const struct map_application *a)
{
	const fdt32_t *id = map_bytes(map, &a->pci_id);

	put(out, "\"pci_ids\":[");
	for (uint32_t i = 0; i < a->pci_id.size / 8; i++)
		put(out, "[%u,%u]", fdt32_ld(&id[2 * i]), fdt32_ld(&id[2 * i + 1]));
	text_close(out, "]");
	put_named(out, map, "awaits", &a->await);
	put_named(out, map, "cables", &a->cables);
	put_named(out, map, "volumes", &a->volumes);
	put_strings(out, map, "args", &a->args);
	put_strings(out, map, "env", &a->env);
}

static void put_application(struct text *out, const struct cluster_map *map, const struct map_application *a)
{
	static const char *const restart[] = { "never", "on-failure", "always" },
	                         *const role[] = { NULL, "switch", "nic", "volume" };
	const uint8_t *mac = a->mac;

	put(out, "{\"cpu\":%u,\"heap\":%lu,\"storage\":%lu,\"user\":[%u,%u]", a->cpu, a->heap, a->storage, a->uid,
	    a->gid);
	put(out, "\"barrier\":%s,\"statistics\":%s", truth_of(a->barrier), truth_of(a->statistics));
	put(out, "\"restart_limit\":%u,\"restart_delay\":%u", a->restart_limit, a->restart_delay);
	put_text(out, "name", a->name);
	put_text(out, "program", a->program);
	put_text(out, "role", role[a->role]);
	put_text(out, "restart", restart[a->restart]);
	put_text(out, "files", a->files);
	put_text(out, "cwd", a->cwd.size > 0 ? map_bytes(map, &a->cwd) : NULL);
	put_text(out, "placement", a->placement == PROCESS_FIRST ? "first" : NULL);
	put_text(out, "mount", a->mount.size > 0 ? map_bytes(map, &a->mount) : NULL);
	put_text(out, "stack", a->stack != MAP_NONE ? map->application[a->stack].name : NULL);
	put_text(out, "switch", named_switch(map, a));
	if (a->threads != PROCESS_THREADS)
		put(out, "\"threads\":%u", a->threads);
	if (a->processes != 1)
		put(out, "\"processes\":%u", a->processes);
	if (a->ipv4 != 0)
		put(out, "\"ipv4\":\"%u.%u.%u.%u\"", MAP_IPV4(a->ipv4));
	if (a->has_mac)
		put(out, "\"mac\":\"%02x%02x%02x%02x%02x%02x\"", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	put_cores(out, map, a);
	put_lists(out, map, a);
	text_close(out, "}");
}

/* Ranges with their NUMA node. Here and in what follows the devicetree's nodes have their form: check_form(). */
static void put_memory(struct text *out, const void *fdt)
{
	int node, size;

	put(out, "\"memory\":[");
	fdt_for_each_subnode(node, fdt, 0) {
		const char *name = fdt_get_name(fdt, node, NULL);
		const fdt64_t *cell = fdt_getprop(fdt, node, "reg", &size);
		const fdt32_t *numa = fdt_getprop(fdt, node, "numa-node-id", NULL);

		for (int i = 0; strncmp(name, "memory", 6) == 0 && i < size / 16; i++)
			put(out, "[%lu,%lu,%u]", (unsigned long)fdt64_ld(&cell[2 * i]),
			    (unsigned long)fdt64_ld(&cell[2 * i + 1]),
			    fdt32_ld(numa));
	}
	text_close(out, "]");
}

static void put_distances(struct text *out, const void *fdt)
{
	int size;
	const fdt32_t *cell = fdt_getprop(fdt, fdt_subnode_offset(fdt, 0, "distance-map"), "distance-matrix", &size);

	put(out, "\"distances\":[");
	for (int i = 0; cell != NULL && i < size / 4; i += 3)
		put(out, "[%u,%u,%u]", fdt32_ld(&cell[i]), fdt32_ld(&cell[i + 1]), fdt32_ld(&cell[i + 2]));
	text_close(out, "]");
}

/* The properties of /machine by name, but for what dtc adds: one number each. */
static void put_machine(struct text *out, const void *fdt)
{
	int node = fdt_subnode_offset(fdt, 0, "machine"), property, size;
	const char *name;

	if (node < 0)
		return;
	put(out, "\"machine\":{");
	fdt_for_each_property_offset(property, fdt, node) {
		const void *value = fdt_getprop_by_offset(fdt, property, &name, &size);

		if (strstr(name, "phandle") == NULL)
			put(out, "\"%s\":%lu", name, size == 4 ? fdt32_ld(value) : (unsigned long)fdt64_ld(value));
	}
	text_close(out, "}");
}

static void put_map(struct text *out, const struct cluster_map *map, const void *fdt)
{
	put(out, "\"shutdown\":%s,\"patience\":%u,\"cpus\":[", truth_of(map->shutdown_when_done), map->patience);
	for (uint32_t i = 0; i < map->cpu_count; i++)
		put(out, "[%u,%u,%u]", map->cpu[i].apic, map->cpu[i].node, map->cpu[i].machine);
	text_close(out, "]");
	put_memory(out, fdt);
	put_distances(out, fdt);
	put_machine(out, fdt);
	put(out, "\"clusters\":[");
	for (uint32_t i = 0; i < map->cluster_count; i++)
		put_cluster(out, &map->cluster[i]);
	text_close(out, "]");
	put(out, "\"channels\":[");
	for (uint32_t i = 0; i < map->channel_count; i++)
		put_channel(out, &map->channel[i]);
	text_close(out, "]");
	if (map->network.present)
		put(out, "\"network\":{\"netmask\":\"%u.%u.%u.%u\",\"gateway\":\"%u.%u.%u.%u\",\"mtu\":%u}",
		    MAP_IPV4(map->network.netmask), MAP_IPV4(map->network.gateway), map->network.mtu);
	put(out, "\"applications\":[");
	for (uint32_t i = 0; i < map->application_count; i++)
		put_application(out, map, &map->application[i]);
	text_close(out, "]");
}

static void put_error(struct text *out, const struct error_message *err)
{
	put(out, "\"error\":{");
	put_text(out, "text", err->text);
	put_text(out, "node", err->node);
	put_text(out, "property", err->property);
	put_text(out, "cause", err->cause);
	put_text(out, "cause_property", err->cause_property);
	text_close(out, "}");
}

const char *cluster_map_json(const void *blob, uint64_t size)
{
	static struct cluster_map map;
	static _Alignas(8) char copy[MAP_MAX_SIZE];
	struct text out = { .data = json, .size = ROOM - 1 };
	struct error_message err = { .text = "" };

	if (size <= sizeof copy)
		memcpy(copy, blob, size);
	put(&out, "{");
	if (cluster_map_read(&map, copy, size, &err) && check_form(&map, copy, &err))
		put_map(&out, &map, copy);
	else
		put_error(&out, &err);
	text_close(&out, "}");
	if (out.truncated)
		__builtin_trap();
	json[out.length] = '\0';
	return json;
}
