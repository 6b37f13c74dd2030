/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that only the host's tool makes: no node and no property is allowed that docs/cluster-map.md does not name, so
 * that a misspelt one does not pass as absent, and the nodes that describe a machine have their form. The loader reads
 * the real machine instead.
 */
#include <libfdt.h>
#include <stdio.h>
#include <string.h>
#include <skerry/span.h>

#include "draft.h"
#include "read.h"

/* The properties that a node below the root may have. Blanks separate their names. */
struct form {
	const char *name; /* before '@' */
	const char *properties;
	const char *child; /* name of its children, before '@'; "": any; NULL: it has none */
	const char *child_properties;
};

#define CONTAINER "#address-cells #size-cells"

static const struct form forms[] = {
	{ "machine", "sockets cores-per-socket memory-per-node l3-caches-per-socket nodes-per-socket threads-per-core "
	             "cores-per-l3-cache",
	  NULL, NULL },
	{ "cpus", CONTAINER, "cpu", "device_type reg numa-node-id" },
	{ "memory", "device_type reg numa-node-id", NULL, NULL },
	{ "distance-map", "compatible distance-matrix", NULL, NULL },
	{ "clusters", CONTAINER, "cluster",
	  "reg kernel root cpus memory modules devices restart restart-limit restart-delay granularity"
	  " spare-cores homed" },
	{ "channels", CONTAINER, "channel", "reg ends memory ivshmem size" },
	{ "network", "netmask gateway mtu", NULL, NULL },
	{ "applications", CONTAINER, "",
	  "reg program cpu placement heap role pci-id ipv4 mac args env cwd files storage user threads processes await"
	  " cables stack switch volumes mount "
	  "barrier"
	  " restart restart-limit restart-delay statistics" },
	{ "run", "shutdown patience", NULL, NULL },
};

/* Returns whether `name` is one of `names`, which blanks separate. */
static bool is_among(const char *names, const char *name)
{
	size_t length;

	for (; *names != '\0'; names += length + strspn(names + length, " ")) {
		length = strcspn(names, " ");
		if (strlen(name) == length && strncmp(names, name, length) == 0)
			return true;
	}
	return false;
}

static bool check_properties(struct draft *d, int node, const char *allowed)
{
	const char *name;
	int property;

	fdt_for_each_property_offset(property, d->fdt, node) {
		if (fdt_getprop_by_offset(d->fdt, property, &name, NULL) != NULL &&
		    !is_among("phandle linux,phandle", name) &&
		    !is_among(allowed, name))
			return error_set_at(d->err, node_name(d, node), name, "map: %s: unknown property '%s'",
			                    node_name(d, node),
					 name);
	}
	return true;
}

static bool check_childless(struct draft *d, int node)
{
	int child = fdt_first_subnode(d->fdt, node);

	return child < 0 ||
	       error_set_at(d->err, node_name(d, child), NULL, "map: %s: unknown node in %s", node_name(d, child),
	                    node_name(d, node));
}

/* Returns whether a node's name is `base`, or begins with `base` and '@'. */
static bool is_named(const char *name, const char *base)
{
	size_t length = strlen(base);

	return strncmp(name, base, length) == 0 && (name[length] == '\0' || name[length] == '@');
}

static bool check_cells(struct draft *d, int node, uint32_t address, uint32_t size)
{
	uint32_t cells[2];

	if (!read_u32(d, node, "#address-cells", &cells[0]) || !read_u32(d, node, "#size-cells", &cells[1]))
		return false;
	return (cells[0] == address && cells[1] == size) ||
	       error_set_at(d->err, node_name(d, node), "#address-cells",
			 "map: %s: #address-cells must be %u and #size-cells %u", node_name(d, node), address, size);
}

/* Checks that the part of a node's name behind '@' is its first address, in hexadecimal digits. */
static bool check_unit(struct draft *d, int node, const char *unit)
{
	const char *name = node_name(d, node), *at = strchr(name, '@');

	return (at != NULL && strcmp(at + 1, unit) == 0) ||
	       error_set_at(d->err, name, "reg", "map: %s: its name says '%s', its reg %s", name,
	                    at == NULL ? "" : at + 1, unit);
}

/* One or two cells, which no other child of the same node has: *reg. */
static bool check_reg(struct draft *d, int node, int cells, uint64_t *reg)
{
	char unit[24];
	int size;
	const fdt32_t *cell = fdt_getprop(d->fdt, node, "reg", &size);

	if (cell == NULL || size != 4 * cells)
		return error_set_at(d->err, node_name(d, node), "reg", "map: %s: reg is not %s", node_name(d, node),
				 cells == 1 ? "one cell" : "two cells");
	if (cells == 1)
		snprintf(unit, sizeof unit, "%x", fdt32_ld(cell));
	else
		snprintf(unit, sizeof unit, "%x,%x", fdt32_ld(cell), fdt32_ld(cell + 1));
	*reg = cells == 1 ? fdt32_ld(cell) : (uint64_t)fdt32_ld(cell) << 32 | fdt32_ld(cell + 1);
	return check_unit(d, node, unit);
}

static bool check_device_type(struct draft *d, int node, const char *expected)
{
	const char *type;

	if (!read_string(d, node, "device_type", &type))
		return false;
	return strcmp(type, expected) == 0 || error_set_at(d->err, node_name(d, node), "device_type",
							"map: %s: device_type is not '%s'", node_name(d, node),
							expected);
}

/* One child of cpus, clusters, channels or applications. */
static bool check_child(struct draft *d, int node, const struct form *form)
{
	uint32_t value;

	if (form->child[0] != '\0' && !is_named(node_name(d, node), form->child))
		return error_set_at(d->err, node_name(d, node), NULL, "map: %s: unknown node in %s", node_name(d, node),
		                    form->name);
	if (!check_childless(d, node) || !check_properties(d, node, form->child_properties))
		return false;
	if (strcmp(form->child, "cpu") == 0)
		return check_device_type(d, node, "cpu") &&
		       ((d->cpu_cells == 2 && !has_property(d, node, "numa-node-id")) ||
		        read_u32(d, node, "numa-node-id", &value));
	return !has_property(d, node, "size") || has_property(d, node, "ivshmem") ||
	       error_set_at(d->err, node_name(d, node), "size", "map: %s: size is for a channel with ivshmem",
	                    node_name(d, node));
}

/* A node whose children are told apart by `reg`. */
static bool check_container(struct draft *d, int parent, const struct form *form)
{
	static uint64_t reg[MAP_MAX_CPUS > MAP_MAX_APPLICATIONS ? MAP_MAX_CPUS : MAP_MAX_APPLICATIONS];
	int node, cells = strcmp(form->name, "cpus") == 0 && d->cpu_cells == 2 ? 2 : 1;
	uint32_t count = 0;

	if (!check_cells(d, parent, (uint32_t)cells, 0))
		return false;
	fdt_for_each_subnode(node, d->fdt, parent) {
		if (!check_reg(d, node, cells, &reg[count]) || !check_child(d, node, form))
			return false;
		for (uint32_t i = 0; i < count; i++)
			if (reg[i] == reg[count])
				return error_set_at(d->err, node_name(d, node), "reg",
				                    "map: %s: two nodes have this reg",
						 node_name(d, node));
		count++; /* as many as cluster_map_read() has accepted */
	}
	return true;
}

static bool check_memory_node(struct draft *d, int node)
{
	const char *name = node_name(d, node);
	char unit[24];
	int size;
	const fdt64_t *cell = fdt_getprop(d->fdt, node, "reg", &size);
	uint32_t numa;

	if (cell == NULL || size == 0 || size % 16 != 0)
		return error_set_at(d->err, name, "reg", "map: %s: reg is not base and size of two cells each", name);
	for (int i = 0; i < size / 16; i++) {
		uint64_t base = fdt64_ld(cell + 2 * i), bytes = fdt64_ld(cell + 2 * i + 1);

		if (bytes == 0)
			return error_set_at(d->err, name, "reg", "map: %s: memory at 0x%lx is empty", name, base);
		if (!span_ends(base, bytes))
			return error_set_at(d->err, name, "reg",
			                    "map: %s: memory at 0x%lx goes past the end of the address space", name,
					 base);
	}
	snprintf(unit, sizeof unit, "%lx", (unsigned long)fdt64_ld(cell));
	return check_device_type(d, node, "memory") && read_u32(d, node, "numa-node-id", &numa) &&
	       check_unit(d, node, unit);
}

static bool check_distances(struct draft *d, int node)
{
	int size;
	const fdt32_t *cell = fdt_getprop(d->fdt, node, "distance-matrix", &size);

	if (fdt_node_check_compatible(d->fdt, node, "numa-distance-map-v1") != 0)
		return error_set_at(d->err, "distance-map", "compatible",
		                    "map: distance-map: compatible is not 'numa-distance-map-v1'");
	if (cell == NULL || size == 0 || size % 12 != 0)
		return error_set_at(d->err, "distance-map", "distance-matrix",
				 "map: distance-map: distance-matrix is not made of groups of 3 cells");
	for (int i = 1; i < size / 12; i++)
		for (int j = 0; j < i; j++)
			if (cell[3 * i] == cell[3 * j] && cell[3 * i + 1] == cell[3 * j + 1])
				return error_set_at(d->err, "distance-map", "distance-matrix",
						 "map: distance-map: says the distance of %u and %u twice",
						 fdt32_ld(cell + 3 * i),
						 fdt32_ld(cell + 3 * i + 1));
	return true;
}

/* Checks an emulated machine: a regular one, or one with cores where the cpus are. */
static bool check_machine(struct draft *d, int node)
{
	static const char *const irregular[] = { "sockets", "l3-caches-per-socket", "cores-per-l3-cache",
	                                         "threads-per-core" };
	static const char *const optional[] = { "l3-caches-per-socket", "nodes-per-socket", "threads-per-core" };
	uint32_t value;
	int size;

	if (has_property(d, node, "cores-per-l3-cache")) {
		for (unsigned i = 0; i < sizeof irregular / sizeof *irregular; i++)
			if (!read_u32(d, node, irregular[i], &value))
				return false;
		return check_properties(d, node, "sockets l3-caches-per-socket cores-per-l3-cache threads-per-core");
	}
	for (unsigned i = 0; i < sizeof optional / sizeof *optional; i++)
		if (has_property(d, node, optional[i]) && !read_u32(d, node, optional[i], &value))
			return false;
	if (fdt_getprop(d->fdt, node, "memory-per-node", &size) == NULL || size != 8)
		return error_set_at(d->err, "machine", "memory-per-node",
		                    "map: machine: memory-per-node is not one size of two cells");
	return read_u32(d, node, "sockets", &value) && read_u32(d, node, "cores-per-socket", &value);
}

/* Returns the form of a node below the root. Only those of memory have an address in their names: no other is named
 * twice. */
static const struct form *form_of(const char *name)
{
	for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strcmp(name, forms[i].name) == 0 ||
		    (strcmp(forms[i].name, "memory") == 0 && is_named(name, "memory")))
			return &forms[i];
	return NULL;
}

static bool check_top(struct draft *d, int node)
{
	const struct form *form = form_of(node_name(d, node));

	if (form == NULL)
		return error_set_at(d->err, node_name(d, node), NULL, "map: %s: unknown node", node_name(d, node));
	if (!check_properties(d, node, form->properties))
		return false;
	if (form->child != NULL)
		return check_container(d, node, form);
	if (!check_childless(d, node))
		return false;
	if (strcmp(form->name, "memory") == 0)
		return check_memory_node(d, node);
	if (strcmp(form->name, "distance-map") == 0)
		return check_distances(d, node);
	return strcmp(form->name, "machine") != 0 || check_machine(d, node);
}

bool check_form(const struct cluster_map *map, const void *fdt, struct error_message *err)
{
	struct draft d = { .fdt = fdt, .err = err };
	uint32_t machine = 0;
	int node;

	d.cpu_cells = fdt_address_cells(fdt, fdt_subnode_offset(fdt, 0, "cpus"));
	if (!check_cells(&d, 0, 2, 2) || !check_properties(&d, 0, CONTAINER " compatible model"))
		return false;
	fdt_for_each_subnode(node, fdt, 0)
		if (!check_top(&d, node))
			return false;
	for (uint32_t i = 0; i < map->cpu_count; i++)
		machine |= map->cpu[i].machine;
	return d.cpu_cells != 2 || machine != 0 ||
	       error_set_at(err, "cpus", "#address-cells",
			 "map: cpus: #address-cells is 2, for several machines, and no core is of another than 0");
}
