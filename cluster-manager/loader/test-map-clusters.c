/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors in the devicetree's container and the sizes of its contents, in its tree, cores, clusters and memory, and in a
 * map of several machines.
 */
#include <stdio.h>
#include <string.h>

#include "test-map.h"

#define LONG_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LONG LONG_63 LONG_63 LONG_63 "aaaaaaaaaaa"

#define MACHINE0_CPU "/cpus/cpu@0,1"
#define C2 "/clusters/cluster@2"
#define CHANNEL1 "/channels/channel@1"
#define MACHINE1_CPU "/cpus/cpu@1,1"

/* --- the container --- */

/* Byte `offset` of the structure block; 0 is the root's BEGIN_NODE. */
static char *structure(int offset) { return tree + fdt_off_dt_struct(tree) + offset; }

static void set_word(int offset, uint32_t value)
{
	value = cpu_to_fdt32(value);
	memcpy(structure(offset), &value, sizeof value);
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
	BREAK("a map too large", tree_size = MAP_MAX_SIZE + 1, "1048577 bytes are more than 1048576");
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

/* --- one machine --- */

void break_tree(void)
{
	BREAK("not a devicetree", tree[0] = 0, "not a sound devicetree");
	BREAK("a devicetree cut short", tree_size = 1000, "not a sound devicetree");
	BREAK("a devicetree of version 16", fdt_set_version(tree, 16), "version 16");
	BREAK("a devicetree of two parts", tree_size--, "says 524288 bytes");
	BREAK("a length that leads back to itself", set_length(C1, "modules", 0xfffffff4),
	      "cluster@1: modules of 4294967284 bytes");
	BREAK("a negative length", set_length_minus_4(C1, "cpus"), "of 4294967292 bytes");
	BREAK("a length past the end", set_length(YCSB, "await", 1 << 20), "ycsb@3: await of 1048576 bytes");
	BREAK("a property twice", rename_property(REDIS, "heap", "cpu"), "redis@2: there are two properties cpu");
	BREAK("a node twice", rename_node("/network", "run"), "two nodes /run");
	BREAK("two clusters of one name", rename_node(C1, "cluster@0"), "two clusters cluster@0");
	BREAK("two cpus of one name", rename_node("/cpus/cpu@3", "cpu@2"), "two cpus cpu@2");
	BREAK("two applications of one name", rename_node(YCSB, "redis@2"), "two applications redis@2");
	BREAK("a name that moves the cursor", rename_node(C1, "cluster@\033[2J\n"), "node name cluster@?[2J? at byte");
	BREAK("a name of 200 characters", rename_node(C1, LONG), "has 200 bytes, more than 63");
	BREAK("a name of 63 characters", (rename_node(C1, LONG + 137), set_cell("/clusters/" LONG_63, "reg", 7)),
	      ".: reg is 7");
	BREAK("another kind of devicetree", set_text("/", "compatible", "linux"), "skerry,cluster-map-v1");
	BREAK("32-bit addresses", set_cell("/", "#address-cells", 1), "#address-cells");
}

void break_cores(void)
{
	BREAK("no cpus", must(fdt_del_node(tree, at("/cpus"))), "/cpus");
	BREAK("no clusters", must(fdt_del_node(tree, at("/clusters"))), "/clusters");
	BREAK("an absent core", set_cell("/cpus/cpu@3", "reg", 9), "cpu@3");
	BREAK("a core twice in /cpus", set_cell("/cpus/cpu@3", "reg", 2), "cpu@3");
	BREAK("two cores of one phandle", set_cell("/cpus/cpu@3", "phandle", 3),
	      "cpu@2 and cpu@3 have the same phandle");
	BREAK("a core the firmware disabled", machine.cpu[3].enabled = false, "cpu@3");
	BREAK("an APIC id beyond xAPIC",
	      (set_cell("/cpus/cpu@3", "reg", 300), machine.cpu[3].apic = 300, machine.x2apic = false), "x2APIC");
	BREAK("devices with a cluster that they cannot interrupt",
	      (set_high_ids(), machine.x2apic = true), "cluster@0 has devices");
	BREAK("a core twice in a cluster", set_cells(C0, "cpus", 1, 1), "cpu@0 is in cluster@0 twice");
	BREAK("a core in two clusters", set_cells(C1, "cpus", 2, 3), "cpu@1 is in cluster@0 and in cluster@1");
	BREAK("a phandle of nothing", set_cells(C1, "cpus", 3, 77), "cluster@1: entry 1");
	BREAK("a phandle of another node", (set_cell(CHANNEL, "phandle", 78), set_cells(C1, "cpus", 3, 78)),
	      "cluster@1: entry 1");
	BREAK("no cores", drop(C1, "cpus"), "cluster@1 has no cpus");
	BREAK("1025 cores of a cluster", must(fdt_setprop(tree, at(C1), "cpus", sound, (BOOT_MAX_CPUS + 1) * 4)),
	      "cluster@1 has more than 1024");
	BREAK("half a phandle", must(fdt_setprop(tree, at(C1), "cpus", sound, 6)), "cluster@1");
}

/* The firmware's domains of the four cores. */
static void set_domains(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t domain[] = { a, b, c, d };

	for (uint32_t i = 0; i < 4; i++)
		machine.cpu[i].node = domain[i];
	machine.node_range[0].node = a;
	machine.node_range[1].node = d;
}

static void set_labels(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	set_cell("/cpus/cpu@0", "numa-node-id", a);
	set_cell("/cpus/cpu@1", "numa-node-id", b);
	set_cell("/cpus/cpu@2", "numa-node-id", c);
	set_cell("/cpus/cpu@3", "numa-node-id", d);
}

void accept_nodes(void)
{
	ACCEPT("the firmware's own numbers", (void)0);
	expect_list("node 0 = domain 0: 2 cores, 1023 MiB|node 1 = domain 1: 2 cores, 1023 MiB|");
	ACCEPT("domains from 1 on", set_domains(1, 1, 2, 2));
	expect_list("node 0 = domain 1: 2 cores, 1023 MiB|node 1 = domain 2: 2 cores, 1023 MiB|");
	ACCEPT("domains in the other order", set_domains(1, 1, 0, 0));
	ACCEPT("large domains", set_domains(UINT32_MAX, UINT32_MAX, 0x10000, 0x10000));
	ACCEPT("nodes of any numbers", set_labels(7, 7, 3, 3));
	ACCEPT("a map that knows of no nodes",
	       (drop("/cpus/cpu@0", "numa-node-id"), drop("/cpus/cpu@2", "numa-node-id")));
	ACCEPT("a core whose domain the firmware does not say",
	       (set_labels(0, 1, 1, 1), machine.cpu[1].has_node = false));
	expect_words(2, NULL);
	ACCEPT("a map of one node", set_labels(0, 0, 0, 0));
	expect_words(2, "numa-node-id 0 holds several domains of the firmware: 0 and 1, or more");
	ACCEPT("a map of finer nodes", set_labels(0, 2, 1, 3));
	expect_words(2, "the firmware's domain 1 is several nodes of the map: 1 and 3, or more");
	ACCEPT("a map that is finer and coarser", (set_labels(5, 6, 7, 7), set_domains(1, 1, 2, 3),
						   machine.node_range_count = 1));
	expect_words(2, "numa-node-id 7 holds several domains of the firmware: 2 and 3, or more");
}

#define MEMORY0 "/memory@0"
#define MEMORY1 "/memory@40000000"

/* The first node has no memory: the firmware has all of it in the second. */
static void set_memory_far(void)
{
	machine.node_range[0].node = 1;
	set_cell(MEMORY0, "numa-node-id", 1);
}

void accept_labels(void)
{
	ACCEPT("memory of one domain that has no number of the map's",
	       (set_labels(0, 0, 0, 0), set_domains(9, 9, 9, 9), set_cell(MEMORY1, "numa-node-id", 0)));
	expect_list("node 0 = domain 9: 4 cores, 2047 MiB|");
	ACCEPT("one node, as the firmware calls it",
	       (set_labels(0, 0, 0, 0), set_domains(0, 0, 0, 0), set_cell(MEMORY1, "numa-node-id", 0)));
	expect_list("");
	ACCEPT("memory with a label that no core has", set_cell(MEMORY1, "numa-node-id", 7));
	ACCEPT("memory without a label", drop(MEMORY1, "numa-node-id"));
	ACCEPT("memory of a domain without cores", machine.node_range[1].node = 7);
	ACCEPT("a border that is not the firmware's by 2 MiB",
	       (set_memory(C1, 0x40400000, 0x3ec00000),
	       machine.node_range[0].range.size += 2 << 20, machine.node_range[1].range.base += 2 << 20));
	ACCEPT("a label of which a core is in no domain",
	       (machine.cpu[3].has_node = false, set_cell(MEMORY0, "numa-node-id", 1)));
	ACCEPT("memory of another node where a cluster's own has none", set_memory_far());
}

void break_labels(void)
{
	BREAK("memory labels the wrong way round",
	      (set_cell(MEMORY0, "numa-node-id", 1), set_cell(MEMORY1, "numa-node-id", 0)),
	      "memory@0: numa-node-id is 1, as cpu@2's; the firmware has 0x0 .. 0x3fffffff in one domain with cpu@0 "
	      "(0)");
	BREAK("memory labels by the firmware's numbers, and cores by the map's",
	      (set_domains(1, 1, 2, 2), set_cell(MEMORY0, "numa-node-id", 1)),
	      "memory@0: numa-node-id is 1, as cpu@2's; the firmware has 0x0 .. 0x3fffffff in one domain with cpu@0 "
	      "(1)");
	BREAK("a border that is not the firmware's by 4 MiB",
	      (set_memory(C1, 0x40400000, 0x3ec00000),
	      machine.node_range[0].range.size += 4 << 20, machine.node_range[1].range.base += 4 << 20),
	      "memory@40000000: numa-node-id is 1");
	BREAK("a label of two cells", set_cells(MEMORY0, "numa-node-id", 0, 0), "memory@0: reg or numa-node-id");
	BREAK("a range of three cells", must(fdt_setprop(tree, at(MEMORY0), "reg", sound, 12)), "memory@0: reg or");
	BREAK("a range past the end",
	      must(fdt_setprop(tree, at(MEMORY0), "reg",
			       (const uint32_t[]){ 0xffffffff, 0xffffffff, 0, 0x1000000 }, 16)),
	      "memory@0: memory at 0xffffffffffffffff goes past the end");
	BREAK("memory of another node where one of a cluster's cores has some",
	      (set_memory_far(), machine.cpu[1].node = 2, machine.node_range_count = 3,
	       machine.node_range[2] = (struct machine_node_range){ { 0x7f000000, 0x1000000 }, 2 }),
	      "cluster@0: memory 0x0 .. 0x3fffffff is in the firmware's NUMA domain 1");
}

void break_nodes(void)
{
	BREAK("a core in the wrong node", set_cell("/cpus/cpu@1", "numa-node-id", 1),
	      "cpu@1 and cpu@2 have one numa-node-id, 1; the firmware has cpu@1 in a domain with cpu@0 (0), and cpu@2 "
	      "in another");
	BREAK("a core in the wrong node of domains from 1 on",
	      (set_cell("/cpus/cpu@1", "numa-node-id", 1), set_domains(1, 1, 2, 2)),
	      "the firmware has cpu@1 in a domain with cpu@0 (1)");
	BREAK("nodes across the firmware's", set_labels(0, 1, 0, 1), "cpu@0 and cpu@2 have one numa-node-id, 0");
	BREAK("a core of another socket", set_domains(1, 2, 2, 2), "cpu@1 and cpu@0 have one numa-node-id, 0");
	BREAK("memory that is far by domains from 1 on",
	      (set_domains(1, 1, 2, 2), set_memory(C0, 0x40000000, 0x3f000000), set_memory(C1, 0, 0x40000000)),
	      "cluster@0: memory 0x40000000 .. 0x7effffff is in the firmware's NUMA domain 2");
	BREAK("memory that is far although the numbers agree",
	      (set_domains(1, 1, 0, 0), machine.node_range[0].node = 0, machine.node_range[1].node = 1),
	      "cluster@0: memory 0x0 .. 0x3fffffff is in the firmware's NUMA domain 0");
}

void break_clusters(void)
{
	BREAK("two clusters of one number", set_cell(C1, "reg", 0), "cluster@0 and cluster@1");
	BREAK("cluster numbers with a gap", set_cell(C1, "reg", 5), "cluster@1");
	BREAK("a kernel without its module", set_text(C1, "kernel", "mcs"), "kernel-mcs");
	BREAK("no kernel", drop(C1, "kernel"), "cluster@1 has no kernel");
	BREAK("a kernel name that does not end", must(fdt_setprop(tree, at(C1), "kernel", "clh", 3)), "cluster@1");
	BREAK("a kernel name too long", set_text(C1, "kernel", "a-name-much-longer-than-any-record-holds"), "longer");
	BREAK("the lockless kernel on two cores", set_text(C1, "kernel", "none"), "cluster@1");
	BREAK("a kernel for another machine", ((Elf64_Ehdr *)(void *)kernel_file)->e_machine = EM_AARCH64,
	      "kernel-clh+stat");
	BREAK("a kernel cut short", module("kernel-clh+stat")->size = 2000, "kernel-clh+stat");
	BREAK("a kernel in the lower half", segment_of(kernel_file)->p_vaddr = 0x400000, "kernel-clh+stat");
	BREAK("a kernel writable and executable", segment_of(kernel_file)->p_flags |= PF_W, "kernel-clh+stat");
	BREAK("a kernel of another boot_info", kernel_file[elf_of(kernel_file)->e_entry % 4096 - 16] ^= 1,
	      "kernel-clh+stat is of another version");
	BREAK("a kernel of a larger boot_info", kernel_file[elf_of(kernel_file)->e_entry % 4096 - 8] ^= 1,
	      "kernel-clh+stat is of another version");
	BREAK("a kernel with nothing in front of its entry", elf_of(kernel_file)->e_entry = KERNEL_IMAGE_BASE + 15,
	      "kernel-clh+stat is of another version");
	BREAK("a kernel with its entry behind what the file holds", segment_of(kernel_file)->p_filesz = 1000,
	      "kernel-clh+stat is of another version");
	BREAK("a root task without its module", set_text(C0, "root", "boot"), "boot");
	BREAK("a root task of text", memcpy(program_file, "#!/bin/sh", 9), "root");
	BREAK("a root task without entry", ((Elf64_Ehdr *)(void *)program_file)->e_entry = 4, "entry point 0x4");
	BREAK("a missing module", drop_module("ycsb"), "ycsb");
	BREAK("a module loaded twice", strcpy(module("ycsb")->name, "switch"), "switch");
	BREAK("a module named twice",
	      must(fdt_appendprop_string(tree, at(C1), "modules", "ycsb")), "cluster@1: module ycsb is named twice");
	BREAK("modules that do not end", must(fdt_setprop(tree, at(C1), "modules", "ycsb", 4)), "cluster@1");
	BREAK("too many restarts of a cluster", must(fdt_setprop_u32(tree, at(C1), "restart-limit", 17)),
	      "cluster@1: restart-limit is up to 16");
	BREAK("too late a restart", must(fdt_setprop_u32(tree, at(C1), "restart-delay", 5001)),
	      "cluster@1: restart-delay is up to 5000 ms");
	BREAK("a granularity of a kernel that has no choice", set_text(C1, "granularity", "coarse"),
	      "cluster@1: granularity is for kernel \"dynamic\"");
	BREAK("homes of a kernel without localities", must(fdt_setprop(tree, at(C1), "homed", "", 0)),
	      "cluster@1: homed is for kernel \"dynamic\"");
	BREAK("an unknown granularity", set_text(C1, "granularity", "both"),
	      "cluster@1: granularity \"both\" is neither coarse nor fine");
	BREAK("a granularity that does not end", must(fdt_setprop(tree, at(C1), "granularity", "fine", 4)),
	      "cluster@1: granularity is not one string");
	BREAK("no devices", drop(C0, "devices"), "no cluster has devices");
	BREAK("devices twice", must(fdt_setprop_empty(tree, at(C1), "devices")), "cluster@0 and cluster@1");
}

void break_memory(void)
{
	BREAK("absent memory", set_memory(C1, 0x100000000, 0x40000000), "cluster@1");
	BREAK("memory beyond the machine's",
	      (must(fdt_del_node(tree, at("/channels"))), must(fdt_del_node(tree, at("/applications"))),
	      set_memory(C1, 0x40000000, 0x60000000)),
	      "cluster@1: memory 0x40000000 .. 0x9fffffff: this machine has none at 0x80000000");
	BREAK("memory that is mostly a device's", set_memory(C1, 0xafff0000, 0x1000000), "cluster@1");
	BREAK("memory that is mostly the firmware's",
	      (must(fdt_del_node(tree, at("/channels"))), must(fdt_del_node(tree, at("/applications"))),
	      set_memory(C1, 0x7ffd0000, 0x30000)),
	      "cluster@1: of memory 0x7ffd0000 .. 0x7fffffff only 60 of 192 KiB are usable");
	BREAK("memory past the address space", set_memory(C1, 0xfffffffffffff000, 0x2000), "cluster@1");
	BREAK("overlapping clusters", set_memory(C1, 0x3f000000, 0x40000000), "cluster@0 overlaps");
	BREAK("a cluster over a channel", set_memory(C1, 0x40000000, 0x40000000), "channel@0");
	BREAK("memory not in pages", set_memory(C1, 0x40000800, 0x10000000), "cluster@1");
	BREAK("empty memory", set_memory(C1, 0x40000000, 0), "cluster@1");
	BREAK("no memory", drop(C1, "memory"), "cluster@1 has no memory");
	BREAK("half a range", must(fdt_setprop(tree, at(C1), "memory", sound, 24)), "cluster@1");
	BREAK("memory of the other node", (set_memory(C0, 0x40000000, 0x3f000000), set_memory(C1, 0, 0x40000000)),
	      "cluster@0: memory 0x40000000 .. 0x7effffff is in the firmware's NUMA domain 1");
	BREAK("a channel in small pages", set_memory(CHANNEL, 0x7f001000, 0x200000), "channel@0");
	BREAK("a channel in no RAM", set_memory(CHANNEL, 0xb0000000, 0x200000), "channel@0");
	BREAK("a channel to nowhere", set_cells(CHANNEL, "ends", 0, 2), "channel@0: there is no cluster 2");
	BREAK("a channel to itself", set_cells(CHANNEL, "ends", 1, 1), "channel@0");
	BREAK("a channel with one end", set_cell(CHANNEL, "ends", 0), "channel@0");
}

void accept_clusters(void)
{
	ACCEPT("the sound map", (void)0);
	ACCEPT("no SRAT", (machine.has_srat = false, machine.node_range_count = 0));
	ACCEPT("memory of a node without cores",
	       (machine.node_range[1].range.size = 0x20000000, machine.node_range_count = 3,
	       machine.node_range[2] = (struct machine_node_range){ { 0x60000000, 0x20000000 }, 2 }));
	ACCEPT("no applications", must(fdt_del_node(tree, at("/applications"))));
	ACCEPT("no channels, no network",
	       (must(fdt_del_node(tree, at("/channels"))), must(fdt_del_node(tree, at("/applications")))));
	ACCEPT("the lockless kernel on one core",
	       (set_text(C0, "kernel", "none"), set_cell(C0, "cpus", 1), set_cell(REDIS, "cpu", 1)));
	ACCEPT("cores the map leaves out", (set_cell(C1, "cpus", 4), must(fdt_del_node(tree, at("/cpus/cpu@2")))));
}

/* --- several machines --- */

void accept_machines(void)
{
	ACCEPT("the sound map of two machines", (void)0);
	ACCEPT("the second of the two", number = 1);
	ACCEPT("memory that the other machine lacks", set_memory(C1, 0x100000000, 0x40000000));
	ACCEPT("an absent core of the other machine", set_cells(MACHINE1_CPU, "reg", 1, 9));
	ACCEPT("images that only the other machine needs", set_text(C1, "kernel", "mcs"));
}

/* Cluster 2 with the last core, on a machine of its own, and its channel to cluster 0 by device 0x11 of machine 0. */
static void add_machine(void)
{
	set_cells(MACHINE1_CPU, "reg", 2, 0);
	set_cell(C1, "cpus", 3);
	set_cell(YCSB, "cpu", 3);
	must(fdt_add_subnode(tree, at("/clusters"), "cluster@2") < 0);
	set_cell(C2, "reg", 2);
	set_text(C2, "kernel", "none");
	set_text(C2, "root", "root");
	set_cell(C2, "cpus", 4);
	set_memory(C2, 0, 1 << 30);
	must(fdt_setprop_empty(tree, at(C2), "devices"));
	must(fdt_add_subnode(tree, at("/channels"), "channel@1") < 0);
	set_cell(CHANNEL1, "reg", 1);
	set_cells(CHANNEL1, "ends", 0, 2);
	set_cells(CHANNEL1, "ivshmem", 0x11, 0x11);
	must(fdt_setprop_u64(tree, at(CHANNEL1), "size", 16 << 20));
}

void break_machines(void)
{
	BREAK("a device of two channels", add_machine(), "ivshmem 17 of machine 0 is another channel's already");
	BREAK("a machine that is not in the map", number = 2, "there is no machine 2");
	BREAK("machine numbers with a gap",
	      (set_cells("/cpus/cpu@1,0", "reg", 2, 0), set_cells(MACHINE1_CPU, "reg", 2, 1)),
	      "cluster@1 is on machine 2");
	BREAK("no machine 0", (set_cells("/cpus/cpu@0,0", "reg", 1, 2), set_cells(MACHINE0_CPU, "reg", 1, 3)),
	      "no cluster on machine 0");
	BREAK("a cluster on two machines", set_cells(MACHINE1_CPU, "reg", 0, 2), "cluster@1: cpu@1,0 and cpu@1,1");
	BREAK("an APIC id twice on a machine", set_cells(MACHINE1_CPU, "reg", 1, 0), "cpu@1,0 and cpu@1,1");
	BREAK("a core without its machine", set_cell(MACHINE1_CPU, "reg", 1), "cpu@1,1: reg");
	BREAK("an absent core of this machine", set_cells(MACHINE0_CPU, "reg", 0, 9), "cpu@0,1");
	BREAK("an absent core of this machine, which is another",
	      (number = 1, set_cells(MACHINE1_CPU, "reg", 1, 9)), "cpu@1,1");
	BREAK("a machine whose devices nobody has", drop(C1, "devices"), "no cluster on machine 1 has devices");
	BREAK("memory that this machine lacks", set_memory(C0, 0x100000000, 0x40000000), "cluster@0");
	BREAK("a channel of memory", (drop(CHANNEL, "ivshmem"), drop(CHANNEL, "size"),
	      set_memory(CHANNEL, 0x7f000000, 0x1000000)),
	      "channel@0: cluster@0 and cluster@1 are in different machines");
	BREAK("a channel of both", set_memory(CHANNEL, 0x7f000000, 0x1000000), "channel@0 has both");
	BREAK("a channel with one device", set_cell(CHANNEL, "ivshmem", 0x11), "channel@0: ivshmem");
	BREAK("a channel without a size", drop(CHANNEL, "size"), "channel@0 has no size");
	BREAK("a channel of 3 MiB", must(fdt_setprop_u64(tree, at(CHANNEL), "size", 3ul << 20)), "channel@0: size");
	BREAK("a channel for the kernels alone", must(fdt_setprop_u64(tree, at(CHANNEL), "size", 2ul << 20)),
	      "channel@0: size");
	BREAK("a channel without room", must(fdt_setprop_u64(tree, at(CHANNEL), "size", 4ul << 20)),
	      "channel@0 has no room");
	BREAK("a device that no bus has", set_cells(CHANNEL, "ivshmem", 0x11, 32), "channel@0: ivshmem 32");
	BREAK("the host bridge as a device", set_cells(CHANNEL, "ivshmem", 0, 0x11), "channel@0: ivshmem 0");
	BREAK("a NIC on another machine",
	      (drop(YCSB, "ipv4"), drop(YCSB, "mac"), set_text(YCSB, "role", "nic"),
	      set_cells(YCSB, "pci-id", 0x1af4, 0x1041)), "ycsb@3 drives the NIC, but is not on machine 0");
}
