/* SPDX-License-Identifier: BSD-2-Clause */
/* Devicetree to struct map: shapes and sizes only, the meaning is checked in map_check.c. */
#include <libfdt.h>
#include <string.h>

#include "map.h"

struct reader {
	const void *fdt;
	struct map *map;
	struct refusal *why;
};

static const char *name_of(struct reader *r, int node)
{
	const char *name = fdt_get_name(r->fdt, node, NULL);
	return name != NULL && name[0] != '\0' ? name : "/";
}

static bool read_u32(struct reader *r, int node, const char *property, uint32_t *out)
{
	int size;
	const fdt32_t *cell = fdt_getprop(r->fdt, node, property, &size);

	if (cell == NULL)
		return refuse(r->why, "map: %s has no %s", name_of(r, node), property);
	if (size != 4)
		return refuse(r->why, "map: %s: %s is not one cell", name_of(r, node), property);
	*out = fdt32_ld(cell);
	return true;
}

/* One string, ended inside the property and not empty. */
static bool read_string(struct reader *r, int node, const char *property, const char **out)
{
	int size;
	const char *text = fdt_getprop(r->fdt, node, property, &size);

	if (text == NULL)
		return refuse(r->why, "map: %s has no %s", name_of(r, node), property);
	if (size < 2 || strnlen(text, (size_t)size) != (size_t)size - 1)
		return refuse(r->why, "map: %s: %s is not one string", name_of(r, node), property);
	*out = text;
	return true;
}

/* Like read_string, for what becomes a name in boot_info. */
static bool read_name(struct reader *r, int node, const char *property, const char **out)
{
	if (!read_string(r, node, property, out))
		return false;
	if (strlen(*out) >= BOOT_NAME_SIZE)
		return refuse(r->why, "map: %s: %s \"%s\" is longer than %u bytes", name_of(r, node), property,
			      *out, BOOT_NAME_SIZE - 1);
	return true;
}

/* Pairs of 64-bit base and size. */
static bool read_ranges(struct reader *r, int node, struct boot_range *out, uint32_t max, uint32_t *count)
{
	int size;
	const uint8_t *p = fdt_getprop(r->fdt, node, "memory", &size);

	if (p == NULL)
		return refuse(r->why, "map: %s has no memory", name_of(r, node));
	if (size == 0 || size % 16 != 0)
		return refuse(r->why, "map: %s: memory is not base and size of two cells each", name_of(r, node));
	if ((uint32_t)size / 16 > max)
		return refuse(r->why, "map: %s has more than %u memory ranges", name_of(r, node), max);
	*count = (uint32_t)size / 16;
	for (uint32_t i = 0; i < *count; i++, p += 16)
		out[i] = (struct boot_range){ fdt64_ld((const fdt64_t *)(const void *)p),
					      fdt64_ld((const fdt64_t *)(const void *)(p + 8)) };
	return true;
}

/* The local APIC id, before it the machine where the map has several. */
static bool read_cpu_reg(struct reader *r, int node, struct map_cpu *cpu)
{
	int size;
	const fdt32_t *cell = fdt_getprop(r->fdt, node, "reg", &size);

	if (fdt_address_cells(r->fdt, fdt_parent_offset(r->fdt, node)) != 2)
		return read_u32(r, node, "reg", &cpu->apic);
	if (cell == NULL || size != 8)
		return refuse(r->why, "map: %s: reg is not machine and local APIC id", name_of(r, node));
	cpu->machine = fdt32_ld(&cell[0]);
	cpu->apic = fdt32_ld(&cell[1]);
	return true;
}

static bool read_cpu(struct reader *r, int node)
{
	struct map_cpu *cpu = &r->map->cpu[r->map->cpu_count];

	if (r->map->cpu_count == MAP_MAX_CPUS)
		return refuse(r->why, "map: %s: more than %u cpus", name_of(r, node), MAP_MAX_CPUS);
	cpu->name = name_of(r, node);
	cpu->phandle = fdt_get_phandle(r->fdt, node);
	if (map_cpu_by_phandle(r->map, cpu->phandle) != MAP_NONE)
		return refuse(r->why, "map: %s and %s have the same phandle",
			      r->map->cpu[map_cpu_by_phandle(r->map, cpu->phandle)].name, cpu->name);
	if (!read_cpu_reg(r, node, cpu))
		return false;
	cpu->has_node = fdt_getprop(r->fdt, node, "numa-node-id", NULL) != NULL;
	if (cpu->has_node && !read_u32(r, node, "numa-node-id", &cpu->node))
		return false;
	r->map->cpu_count++;
	return true;
}

static bool read_cluster_cpus(struct reader *r, int node, struct map_cluster *cluster)
{
	int size;
	const fdt32_t *phandle = fdt_getprop(r->fdt, node, "cpus", &size);

	if (phandle == NULL || size == 0 || size % 4 != 0)
		return refuse(r->why, "map: %s has no cpus", cluster->name);
	if (size / 4 > BOOT_MAX_CPUS)
		return refuse(r->why, "map: %s has more than %u cpus", cluster->name, BOOT_MAX_CPUS);
	for (int i = 0; i < size / 4; i++) {
		int cpu = map_cpu_by_phandle(r->map, fdt32_ld(&phandle[i]));

		if (cpu == MAP_NONE)
			return refuse(r->why, "map: %s: entry %u of cpus names no node of /cpus", cluster->name,
				      (unsigned)i);
		cluster->cpu[cluster->cpu_count++] = (uint32_t)cpu;
	}
	cluster->machine = r->map->cpu[cluster->cpu[0]].machine;
	return true;
}

static bool read_cluster_modules(struct reader *r, int node, struct map_cluster *cluster)
{
	int count = 0, size;

	if (fdt_getprop(r->fdt, node, "modules", &size) != NULL && size != 0)
		count = fdt_stringlist_count(r->fdt, node, "modules");
	if (count < 0)
		return refuse(r->why, "map: %s: modules is not a list of strings", cluster->name);
	if (count > MAP_MAX_MODULES)
		return refuse(r->why, "map: %s has more than %u modules", cluster->name, MAP_MAX_MODULES);
	for (int i = 0; i < count; i++) {
		const char *name = fdt_stringlist_get(r->fdt, node, "modules", i, &size);

		if (name == NULL || size == 0 || size >= BOOT_NAME_SIZE)
			return refuse(r->why, "map: %s: module name \"%s\" is empty or longer than %u bytes",
				      cluster->name, name ? name : "", BOOT_NAME_SIZE - 1);
		cluster->module[cluster->module_count++] = name;
	}
	return true;
}

static bool read_cluster(struct reader *r, int node)
{
	struct map_cluster *cluster = &r->map->cluster[r->map->cluster_count];

	if (r->map->cluster_count == BOOT_MAX_CLUSTERS)
		return refuse(r->why, "map: %s: more than %u clusters", name_of(r, node), BOOT_MAX_CLUSTERS);
	cluster->name = name_of(r, node);
	cluster->devices = fdt_getprop(r->fdt, node, "devices", NULL) != NULL;
	if (!read_u32(r, node, "reg", &cluster->id) || !read_name(r, node, "kernel", &cluster->kernel) ||
	    !read_name(r, node, "root", &cluster->root) || !read_cluster_cpus(r, node, cluster) ||
	    !read_ranges(r, node, cluster->memory, BOOT_MAX_RANGES, &cluster->memory_count) ||
	    !read_cluster_modules(r, node, cluster))
		return false;
	r->map->cluster_count++;
	return true;
}

/* The shared memory devices of a channel between two machines. */
static bool read_devices(struct reader *r, int node, struct map_channel *channel)
{
	int device_size, size;
	const fdt32_t *device = fdt_getprop(r->fdt, node, "ivshmem", &device_size);
	const void *p = fdt_getprop(r->fdt, node, "size", &size);

	if (fdt_getprop(r->fdt, node, "memory", NULL) != NULL)
		return refuse(r->why, "map: %s has both ivshmem and memory", channel->name);
	if (device_size != 8)
		return refuse(r->why, "map: %s: ivshmem is not two device numbers", channel->name);
	if (p == NULL || size != 8)
		return refuse(r->why, "map: %s has no size of two cells", channel->name);
	channel->afar = true;
	channel->device[0] = fdt32_ld(&device[0]);
	channel->device[1] = fdt32_ld(&device[1]);
	channel->memory.size = fdt64_ld(p);
	if (channel->memory.size < 2 * MAP_KERNELS_PART || (channel->memory.size & (channel->memory.size - 1)) != 0)
		return refuse(r->why, "map: %s: size 0x%lx is not a power of two of at least 4 MiB", channel->name,
			      channel->memory.size);
	channel->memory.size -= MAP_KERNELS_PART;
	return true;
}

static bool read_channel(struct reader *r, int node)
{
	struct map_channel *channel = &r->map->channel[r->map->channel_count];
	uint32_t ranges;
	int size;
	const fdt32_t *ends = fdt_getprop(r->fdt, node, "ends", &size);

	if (r->map->channel_count == MAP_MAX_CHANNELS)
		return refuse(r->why, "map: %s: more than %u channels", name_of(r, node), MAP_MAX_CHANNELS);
	channel->name = name_of(r, node);
	if (!read_u32(r, node, "reg", &channel->id))
		return false;
	if (ends == NULL || size != 8)
		return refuse(r->why, "map: %s: ends does not name two clusters", channel->name);
	channel->end[0] = fdt32_ld(&ends[0]);
	channel->end[1] = fdt32_ld(&ends[1]);
	if (fdt_getprop(r->fdt, node, "ivshmem", NULL) != NULL ? !read_devices(r, node, channel)
							       : !read_ranges(r, node, &channel->memory, 1, &ranges))
		return false;
	r->map->channel_count++;
	return true;
}

static bool read_ipv4(struct reader *r, int node, const char *property, uint32_t *out)
{
	const char *text, *p;
	uint32_t address = 0;

	if (fdt_getprop(r->fdt, node, property, NULL) == NULL)
		return true;
	if (!read_string(r, node, property, &text))
		return false;
	p = text;
	for (unsigned field = 0; field < 4; field++) {
		unsigned value = 0, digits = 0;

		for (; *p >= '0' && *p <= '9' && digits < 4; p++, digits++)
			value = value * 10 + (unsigned)(*p - '0');
		if (digits == 0 || value > 255 || *p != (field < 3 ? '.' : '\0'))
			return refuse(r->why, "map: %s: %s \"%s\" is not an IPv4 address", name_of(r, node),
				      property, text);
		address = address << 8 | value;
		p++;
	}
	*out = address;
	return true;
}

static bool read_application(struct reader *r, int node)
{
	struct map_application *application = &r->map->application[r->map->application_count];
	int size;
	const void *p;

	if (r->map->application_count == MAP_MAX_APPLICATIONS)
		return refuse(r->why, "map: %s: more than %u applications", name_of(r, node), MAP_MAX_APPLICATIONS);
	application->name = name_of(r, node);
	application->node = node;
	if (!read_name(r, node, "program", &application->program) ||
	    !read_u32(r, node, "cpu", &application->phandle) || !read_ipv4(r, node, "ipv4", &application->ipv4))
		return false;
	p = fdt_getprop(r->fdt, node, "heap", &size);
	if (p != NULL && size != 8)
		return refuse(r->why, "map: %s: heap is not one size of two cells", application->name);
	if (p != NULL)
		application->heap = fdt64_ld(p);
	application->mac = fdt_getprop(r->fdt, node, "mac", &size);
	if (application->mac != NULL && size != 6)
		return refuse(r->why, "map: %s: mac is not six bytes", application->name);
	if (fdt_getprop(r->fdt, node, "role", NULL) != NULL && !read_string(r, node, "role", &application->role))
		return false;
	if (fdt_getprop(r->fdt, node, "stack", NULL) != NULL && !read_string(r, node, "stack", &application->stack))
		return false;
	application->has_pci_id = fdt_getprop(r->fdt, node, "pci-id", NULL) != NULL;
	r->map->application_count++;
	return true;
}

static bool read_network(struct reader *r)
{
	struct map_network *network = &r->map->network;
	int node = fdt_subnode_offset(r->fdt, 0, "network");

	network->present = node >= 0;
	return node < 0 || (read_ipv4(r, node, "netmask", &network->netmask) &&
			    read_ipv4(r, node, "gateway", &network->gateway) &&
			    read_u32(r, node, "mtu", &network->mtu));
}

static bool read_run(struct reader *r)
{
	int node = fdt_subnode_offset(r->fdt, 0, "run");

	return node < 0 || fdt_getprop(r->fdt, node, "shutdown", NULL) == NULL ||
	       read_string(r, node, "shutdown", &r->map->shutdown);
}

/* Every child of /`parent`; the parent itself may be missing unless `required`. */
static bool read_children(struct reader *r, const char *parent, bool required,
			  bool (*read)(struct reader *, int node))
{
	int top = fdt_subnode_offset(r->fdt, 0, parent), node;

	if (top < 0)
		return required ? refuse(r->why, "map: there is no node /%s", parent) : true;
	fdt_for_each_subnode(node, r->fdt, top)
		if (!read(r, node))
			return false;
	return true;
}

bool map_parse(struct map *map, const void *blob, uint64_t size, struct refusal *why)
{
	struct reader r = { blob, map, why };
	int error;

	memset(map, 0, sizeof *map);
	map->fdt = blob;
	if (size > MAP_MAX_SIZE)
		return refuse(why, "map: %lu bytes are more than %u", size, MAP_MAX_SIZE);
	error = fdt_check_full(blob, size);
	if (error != 0)
		return refuse(why, "map: not a sound devicetree: %s", fdt_strerror(error));
	if (fdt_node_check_compatible(blob, 0, "skerry,cluster-map-v1") != 0)
		return refuse(why, "map: / is not compatible with skerry,cluster-map-v1");
	if (fdt_address_cells(blob, 0) != 2 || fdt_size_cells(blob, 0) != 2)
		return refuse(why, "map: / needs #address-cells and #size-cells of 2");
	return read_children(&r, "cpus", true, read_cpu) && read_children(&r, "clusters", true, read_cluster) &&
	       read_children(&r, "channels", false, read_channel) &&
	       read_children(&r, "applications", false, read_application) && read_network(&r) && read_run(&r);
}

const struct map_cluster *map_cluster(const struct map *map, uint32_t id)
{
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (map->cluster[i].id == id)
			return &map->cluster[i];
	return NULL;
}

bool map_is_here(const struct map *map, const struct map_cluster *cluster)
{
	return cluster->machine == map->machine;
}

int map_cpu_by_phandle(const struct map *map, uint32_t phandle)
{
	for (uint32_t i = 0; i < map->cpu_count; i++)
		if (phandle != 0 && map->cpu[i].phandle == phandle)
			return (int)i;
	return MAP_NONE;
}

const struct map_cluster *map_cluster_of_cpu(const struct map *map, uint32_t cpu)
{
	for (uint32_t i = 0; i < map->cluster_count; i++)
		for (uint32_t j = 0; j < map->cluster[i].cpu_count; j++)
			if (map->cluster[i].cpu[j] == cpu)
				return &map->cluster[i];
	return NULL;
}
