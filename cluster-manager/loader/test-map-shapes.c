/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors in the devicetree's container and in the sizes of its contents. */
#include <stdio.h>
#include <string.h>

#include "test-map.h"

/* Byte `offset` of the structure block; 0 is the root's BEGIN_NODE. */
static char *structure(int offset) { return tree + fdt_off_dt_struct(tree) + offset; }

static void set_word(int offset, uint32_t value)
{
	value = cpu_to_fdt32(value);
	memcpy(structure(offset), &value, sizeof value);
}

static struct fdt_property *property(const char *path, const char *name)
{
	return fdt_get_property_w(tree, at(path), name, NULL);
}

/* The tags and the name that begin a node: its properties become its parent's, after a node. */
static void open_out(const char *path)
{
	int node = at(path);

	for (int i = 0; i < 12; i += 4)
		set_word(node + i, FDT_NOP);
}

static void nest(unsigned depth)
{
	int node = 0;

	while (depth-- > 0)
		must((node = fdt_add_subnode(tree, node, "deeper")) < 0 ? node : 0);
}

/* `count` nodes n0, n1, ... below a node, each with the cells of `property`. */
static void add_nodes(const char *path, uint32_t count, const char *name, const char *property)
{
	char text[16];

	for (uint32_t i = 0; i < count; i++) {
		snprintf(text, sizeof text, "%s%u", name, i);
		int node = fdt_add_subnode(tree, at(path), text);
		must(node < 0 ? node : 0);
		if (property != NULL)
			must(fdt_setprop_u32(tree, node, property, 100 + i));
	}
}

static void add_properties(const char *path, uint32_t count)
{
	char text[16];

	for (uint32_t i = 0; i < count; i++) {
		snprintf(text, sizeof text, "p%u", i);
		set_cell(path, text, i);
	}
}

static void add_modules(const char *path, uint32_t count)
{
	char text[16];

	for (uint32_t i = 0; i < count; i++) {
		snprintf(text, sizeof text, "m%u", i);
		must(fdt_appendprop_string(tree, at(path), "modules", text));
	}
}

/* Each with all that a cluster or a channel must have. */
static void add_clusters(uint32_t count)
{
	add_nodes("/clusters", count, "more@", "reg");
	for (uint32_t i = 0; i < count; i++) {
		char path[32];

		snprintf(path, sizeof path, "/clusters/more@%u", i);
		set_text(path, "kernel", "none");
		set_text(path, "root", "root");
		set_cell(path, "cpus", 3);
		set_memory(path, 0, 4096);
	}
}

static void add_channels(uint32_t count)
{
	add_nodes("/channels", count, "more@", "reg");
	for (uint32_t i = 0; i < count; i++) {
		char path[32];

		snprintf(path, sizeof path, "/channels/more@%u", i);
		set_cells(path, "ends", 0, 1);
		set_memory(path, 0, 2 << 20);
	}
}

/* Another channel between clusters 0 and 1. */
static void add_channel(uint32_t number, const char *name)
{
	add_channels(1);
	set_cell("/channels/more@0", "reg", number);
	rename_node("/channels/more@0", name);
}

void break_container(void)
{
	BREAK("a map too large", tree_size = MAP_MAX_SIZE + 1, "262145 bytes are more than 262144");
	BREAK("a structure at a crooked place", fdt_set_off_dt_struct(tree, 41), "structure block is at byte 41");
	BREAK("a structure past the end", fdt_set_size_dt_struct(tree, 1u << 30), "structure block is at byte");
	BREAK("strings past the end", fdt_set_off_dt_strings(tree, 1u << 30), "its strings are at byte 1073741824");
	BREAK("a structure of one tag", fdt_set_size_dt_struct(tree, 4), "the name of a node of / runs over the end");
	BREAK("a structure that ends in the root", fdt_set_size_dt_struct(tree, 8), "/: the devicetree ends early");
	BREAK("a property without length", fdt_set_size_dt_struct(tree, 16), "/: a property is cut short");
	BREAK("a root with a name", memcpy(structure(4), "me", 3), "the root node has a name, me");
	BREAK("a node without a name", *structure(at("/network") + 4) = '\0', "a node of / has no name");
	BREAK("nodes 17 deep", nest(16), "deeper: nodes are nested more than 16 deep");
	BREAK("a property of no name", property(REDIS, "heap")->nameoff = cpu_to_fdt32(1u << 30),
	      "redis@2: the property at byte");
	BREAK("a property after a node", open_out(REDIS), "applications: reg comes after a node");
	BREAK("65 properties", add_properties(REDIS, 64), "redis@2 has more than 64 properties");
	BREAK("no tag", property(REDIS, "heap")->tag = cpu_to_fdt32(7), "redis@2: 0x7 at byte");
	BREAK("no root", set_word(0, FDT_END_NODE), "0x2 at byte");
	BREAK("1025 nodes of the root", add_nodes("/", 1025, "n", NULL), "/ has more than 1024 nodes");
}

void break_shapes(void)
{
	BREAK("a number of two cells", set_cells(C1, "reg", 1, 1), "cluster@1: reg is not one cell");
	BREAK("a kernel that moves the cursor", set_text(C1, "kernel", "clh\033[2J"),
	      "cluster@1: kernel \"clh?[2J\" is not of printable");
	BREAK("33 ranges of memory", must(fdt_setprop(tree, at(C1), "memory", sound, 33 * 16)),
	      "cluster@1 has more than 32 memory ranges");
	BREAK("two ranges of a channel", must(fdt_setprop(tree, at(CHANNEL), "memory", sound, 32)),
	      "channel@0 has more than 1 memory range");
	BREAK("a heap of one cell", set_cell(REDIS, "heap", 1 << 21), "redis@2: heap is not one size of two cells");
	BREAK("32 modules", (drop(C1, "modules"), add_modules(C1, 32)), "cluster@1 has more than 31 modules");
	BREAK("a module without a name", set_text(C1, "modules", ""), "cluster@1: module name \"\" is empty");
	BREAK("a module of 32 bytes", set_text(C1, "modules", "m1234567890123456789012345678901"),
	      "or longer than 31 bytes");
	BREAK("a module of the map's name", must(fdt_appendprop_string(tree, at(C1), "modules", "map")),
	      "cluster@1: module map is given");
	BREAK("1025 cores", add_nodes("/cpus", 1021, "more@", "reg"), "more than 1024 cpus");
	BREAK("65 clusters", add_clusters(63), "more than 64 clusters");
	BREAK("257 channels", add_channels(256), "more than 256 channels");
	BREAK("no cluster at all", (must(fdt_del_node(tree, at(C0))), must(fdt_del_node(tree, at(C1)))),
	      "there is no cluster");
	BREAK("two channels of one name", add_channel(1, "channel@0"), "there are two channels channel@0");
	BREAK("two channels of one number", add_channel(0, "more@1"), "have the same reg 0");
	BREAK("two channels of one pair", add_channel(1, "more@1"), "join the same two clusters");
	BREAK("a device's channel within a machine", (drop(CHANNEL, "memory"), set_cells(CHANNEL, "ivshmem", 3, 4),
	      must(fdt_setprop_u64(tree, at(CHANNEL), "size", 16 << 20))),
	      "channel@0: cluster@0 and cluster@1 are in one machine");
}
