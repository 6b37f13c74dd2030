/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breaks a sound map (argv[1], compiled from test-map.dts), or its machine, and
 * one of several machines (argv[2], from test-map-machines.dts) in one place at a
 * time and expects a refusal that names the culprit.
 */
#include <elf.h>
#include <libfdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"

enum { ROOM = 64 * 1024 };

static struct machine machine;
static _Alignas(8) char sound[ROOM], tree[ROOM];
static uint64_t sound_size, tree_size; /* tree_size: what the loader is told */
static uint32_t number; /* which machine of the map we are on */
static _Alignas(8) unsigned char kernel_file[4096], program_file[4096];

static int at(const char *path)
{
	int node = fdt_path_offset(tree, path);
	if (node < 0) {
		fprintf(stderr, "test-map.dts has no %s\n", path);
		exit(2);
	}
	return node;
}

static void must(int error)
{
	if (error != 0) {
		fprintf(stderr, "libfdt: %s\n", fdt_strerror(error));
		exit(2);
	}
}

static void set_cell(const char *path, const char *name, uint32_t value)
{
	must(fdt_setprop_u32(tree, at(path), name, value));
}

static void set_cells(const char *path, const char *name, uint32_t first, uint32_t second)
{
	must(fdt_setprop_u32(tree, at(path), name, first));
	must(fdt_appendprop_u32(tree, at(path), name, second));
}

/* The cores of the cluster that has the devices. */
static void set_high_ids(void)
{
	set_cell("/cpus/cpu@0", "reg", machine.cpu[0].apic = 256);
	set_cell("/cpus/cpu@1", "reg", machine.cpu[1].apic = 300);
}

static void set_text(const char *path, const char *name, const char *value)
{
	must(fdt_setprop_string(tree, at(path), name, value));
}

static void set_memory(const char *path, uint64_t base, uint64_t size)
{
	must(fdt_setprop_u64(tree, at(path), "memory", base));
	must(fdt_appendprop_u64(tree, at(path), "memory", size));
}

static void drop(const char *path, const char *name)
{
	must(fdt_delprop(tree, at(path), name));
}

static void drop_module(const char *name)
{
	struct machine_module *module = (struct machine_module *)machine_module(&machine, name);
	module->name[0] = '\0';
}

static struct machine_module *module(const char *name)
{
	return (struct machine_module *)machine_module(&machine, name);
}

/* An executable with one segment of a page, whose contents do not matter. */
static void make_elf(unsigned char *file, uint64_t vaddr)
{
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			      .e_entry = vaddr, .e_phoff = sizeof header, .e_ehsize = sizeof header,
			      .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1 };
	Elf64_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = vaddr, .p_paddr = vaddr,
			       .p_filesz = 4096, .p_memsz = 4096, .p_align = 4096 };

	memset(file, 0, 4096);
	memcpy(file, &header, sizeof header);
	memcpy(file + sizeof header, &segment, sizeof segment);
}

static Elf64_Phdr *segment_of(unsigned char *file)
{
	return (Elf64_Phdr *)(void *)(file + sizeof(Elf64_Ehdr));
}

static void add_module(const char *name, const void *data)
{
	struct machine_module *m = &machine.module[machine.module_count++];
	snprintf(m->name, sizeof m->name, "%s", name);
	m->data = data;
	m->size = 4096;
}

/* QEMU's q35 with two NUMA nodes of 1 GiB under SeaBIOS, as its firmware describes it. */
static void make_machine(void)
{
	memset(&machine, 0, sizeof machine);
	ranges_add(&machine.ram, 0, 0x9f000);
	ranges_add(&machine.ram, 0x100000, 0x7ffdf000 - 0x100000);
	ranges_add(&machine.known, 0, 0xa0000);
	ranges_add(&machine.known, 0xf0000, 0x80000000 - 0xf0000);
	ranges_add(&machine.known, 0xb0000000, 0x10000000);
	machine.has_srat = true;
	for (uint32_t i = 0; i < 4; i++)
		machine.cpu[i] = (struct machine_cpu){ .apic = i, .node = i / 2, .enabled = true, .has_node = true };
	machine.cpu_count = 4;
	for (uint32_t i = 0; i < 2; i++)
		machine.node_range[i] = (struct machine_node_range){ { i * 0x40000000ul, 0x40000000 }, i };
	machine.node_range_count = 2;
	make_elf(kernel_file, KERNEL_IMAGE_BASE);
	make_elf(program_file, 0x400000);
	add_module("kernel-clh+stat", kernel_file);
	add_module("kernel-none", kernel_file);
	add_module("root", program_file);
	add_module("redis-server", program_file);
	add_module("ycsb", program_file);
	add_module("switch", program_file);
	machine.x2apic = true;
}

#define C0 "/clusters/cluster@0"
#define C1 "/clusters/cluster@1"
#define CHANNEL "/channels/channel@0"
#define SWITCH "/applications/switch@0"
#define REDIS "/applications/redis@2"
#define YCSB "/applications/ycsb@3"

/* X(what is broken, the line that breaks it, what the refusal must say) */
#define BREAKAGES(X)                                                                                              \
	X("not a devicetree", tree[0] = 0, "not a sound devicetree")                                              \
	X("a devicetree cut short", tree_size = 1000, "not a sound devicetree")                                   \
	X("another kind of devicetree", set_text("/", "compatible", "linux"), "skerry,cluster-map-v1")            \
	X("32-bit addresses", set_cell("/", "#address-cells", 1), "#address-cells")                               \
	X("no cpus", must(fdt_del_node(tree, at("/cpus"))), "/cpus")                                              \
	X("no clusters", must(fdt_del_node(tree, at("/clusters"))), "/clusters")                                  \
	X("an absent core", set_cell("/cpus/cpu@3", "reg", 9), "cpu@3")                                           \
	X("a core twice in /cpus", set_cell("/cpus/cpu@3", "reg", 2), "cpu@3")                                    \
	X("two cores of one phandle", set_cell("/cpus/cpu@3", "phandle", 3), "cpu@2 and cpu@3 have the same phandle") \
	X("a core the firmware disabled", machine.cpu[3].enabled = false, "cpu@3")                                \
	X("a core in the wrong node", set_cell("/cpus/cpu@1", "numa-node-id", 1), "cpu@1")                        \
	X("an APIC id beyond xAPIC",                                                                              \
	  (set_cell("/cpus/cpu@3", "reg", 300), machine.cpu[3].apic = 300, machine.x2apic = false), "x2APIC")     \
	X("devices with a cluster that they cannot interrupt",                                                    \
	  (set_high_ids(), machine.x2apic = true), "cluster@0 has devices")                                       \
	X("a core twice in a cluster", set_cells(C0, "cpus", 1, 1), "cpu@0 is in cluster@0 twice")                \
	X("a core in two clusters", set_cells(C1, "cpus", 2, 3), "cpu@1 is in cluster@0 and in cluster@1")        \
	X("a phandle of nothing", set_cells(C1, "cpus", 3, 77), "cluster@1: entry 1")                             \
	X("a phandle of another node", (set_cell(CHANNEL, "phandle", 78), set_cells(C1, "cpus", 3, 78)),          \
	  "cluster@1: entry 1")                                                                                   \
	X("no cores", drop(C1, "cpus"), "cluster@1 has no cpus")                                                  \
	X("61 cores", must(fdt_setprop(tree, at(C1), "cpus", sound, 61 * 4)), "cluster@1 has more than 60")       \
	X("half a phandle", must(fdt_setprop(tree, at(C1), "cpus", sound, 6)), "cluster@1")                       \
	X("two clusters of one number", set_cell(C1, "reg", 0), "cluster@0 and cluster@1")                        \
	X("cluster numbers with a gap", set_cell(C1, "reg", 5), "cluster@1")                                      \
	X("a kernel without its module", set_text(C1, "kernel", "mcs"), "kernel-mcs")                             \
	X("no kernel", drop(C1, "kernel"), "cluster@1 has no kernel")                                             \
	X("a kernel name that does not end", must(fdt_setprop(tree, at(C1), "kernel", "clh", 3)), "cluster@1")    \
	X("a kernel name too long", set_text(C1, "kernel", "a-name-much-longer-than-any-record-holds"), "longer") \
	X("the lockless kernel on two cores", set_text(C1, "kernel", "none"), "cluster@1")                        \
	X("a kernel for another machine", ((Elf64_Ehdr *)(void *)kernel_file)->e_machine = EM_AARCH64,            \
	  "kernel-clh+stat")                                                                                      \
	X("a kernel cut short", module("kernel-clh+stat")->size = 2000, "kernel-clh+stat")                        \
	X("a kernel in the lower half", segment_of(kernel_file)->p_vaddr = 0x400000, "kernel-clh+stat")           \
	X("a kernel writable and executable", segment_of(kernel_file)->p_flags |= PF_W, "kernel-clh+stat")        \
	X("a root task without its module", set_text(C0, "root", "boot"), "boot")                                 \
	X("a root task of text", memcpy(program_file, "#!/bin/sh", 9), "root")                                    \
	X("a root task without entry", ((Elf64_Ehdr *)(void *)program_file)->e_entry = 4, "entry point 0x4")      \
	X("a missing module", drop_module("ycsb"), "ycsb")                                                        \
	X("a module loaded twice", strcpy(module("ycsb")->name, "switch"), "switch")                              \
	X("a module named twice",                                                                                 \
	  must(fdt_appendprop_string(tree, at(C1), "modules", "ycsb")), "cluster@1: module ycsb is named twice")  \
	X("modules that do not end", must(fdt_setprop(tree, at(C1), "modules", "ycsb", 4)), "cluster@1")          \
	X("no devices", drop(C0, "devices"), "no cluster has devices")                                            \
	X("devices twice", must(fdt_setprop_empty(tree, at(C1), "devices")), "cluster@0 and cluster@1")           \
	X("absent memory", set_memory(C1, 0x100000000, 0x40000000), "cluster@1")                                  \
	X("memory beyond the machine's",                                                                          \
	  (must(fdt_del_node(tree, at("/channels"))), set_memory(C1, 0x40000000, 0x60000000)),                    \
	  "cluster@1: memory 0x40000000 .. 0x9fffffff: this machine has none at 0x80000000")                      \
	X("memory that is mostly a device's", set_memory(C1, 0xafff0000, 0x1000000), "cluster@1")                 \
	X("memory past the address space", set_memory(C1, 0xfffffffffffff000, 0x2000), "cluster@1")               \
	X("overlapping clusters", set_memory(C1, 0x3f000000, 0x40000000), "cluster@0 overlaps")                   \
	X("a cluster over a channel", set_memory(C1, 0x40000000, 0x40000000), "channel@0")                        \
	X("memory not in pages", set_memory(C1, 0x40000800, 0x10000000), "cluster@1")                             \
	X("empty memory", set_memory(C1, 0x40000000, 0), "cluster@1")                                             \
	X("no memory", drop(C1, "memory"), "cluster@1 has no memory")                                             \
	X("half a range", must(fdt_setprop(tree, at(C1), "memory", sound, 24)), "cluster@1")                      \
	X("memory of the other node", (set_memory(C0, 0x40000000, 0x3f000000), set_memory(C1, 0, 0x40000000)),    \
	  "cluster@0: memory 0x40000000 .. 0x7effffff is in NUMA node 1")                                         \
	X("a channel in small pages", set_memory(CHANNEL, 0x7f001000, 0x200000), "channel@0")                     \
	X("a channel in no RAM", set_memory(CHANNEL, 0xb0000000, 0x200000), "channel@0")                          \
	X("a channel to nowhere", set_cells(CHANNEL, "ends", 0, 2), "channel@0: there is no cluster 2")           \
	X("a channel to itself", set_cells(CHANNEL, "ends", 1, 1), "channel@0")                                   \
	X("a channel with one end", set_cell(CHANNEL, "ends", 0), "channel@0")                                    \
	X("a program the cluster lacks", set_text(YCSB, "program", "switch"), "ycsb@3: program switch")           \
	X("an application on no core", set_cell(YCSB, "cpu", 99), "ycsb@3")                                       \
	X("an application outside all clusters",                                                                  \
	  (set_cell(C1, "cpus", 3), set_cell(YCSB, "cpu", 4)), "ycsb@3: cpu@3 is in no cluster")                  \
	X("a heap not in large pages", must(fdt_setprop_u64(tree, at(REDIS), "heap", 0x1000)), "redis@2")         \
	X("a heap larger than the cluster", must(fdt_setprop_u64(tree, at(REDIS), "heap", 1ul << 40)), "redis@2") \
	X("an address twice", set_text(YCSB, "ipv4", "10.0.2.101"), "redis@2 and ycsb@3")                         \
	X("an address of letters", set_text(YCSB, "ipv4", "10.0.2.x"), "ycsb@3")                                  \
	X("an address of 256", set_text(YCSB, "ipv4", "10.0.2.256"), "ycsb@3")                                    \
	X("a MAC twice", must(fdt_setprop(tree, at(YCSB), "mac", "\2SK\0\0\2", 6)), "redis@2 and ycsb@3")         \
	X("a group MAC", must(fdt_setprop(tree, at(YCSB), "mac", "\3SK\0\0\2", 6)), "ycsb@3")                     \
	X("a short MAC", must(fdt_setprop(tree, at(YCSB), "mac", "\2SK", 3)), "ycsb@3")                           \
	X("waiting for nobody", set_text(YCSB, "await", "redis@9"), "redis@9")                                    \
	X("statistics where nobody collects them",                                                                \
	  must(fdt_setprop_empty(tree, at(YCSB), "statistics")), "ycsb@3 has statistics")                         \
	X("a stack that is nobody", set_text(REDIS, "stack", "stack@9"), "stack@9")                               \
	X("a stack of oneself", set_text(REDIS, "stack", "redis@2"), "redis@2")                                   \
	X("a stack with an address", set_text(REDIS, "stack", "ycsb@3"), "ycsb@3")                                \
	X("waiting for itself", set_text(YCSB, "await", "ycsb@3"), "ycsb@3")                                      \
	X("waiting in a circle", set_text(REDIS, "await", "ycsb@3"), "redis@2")                                   \
	X("no heap", drop(REDIS, "heap"), "redis@2")                                                              \
	X("a MAC of zeros", must(fdt_setprop(tree, at(YCSB), "mac", "\0\0\0\0\0\0", 6)), "ycsb@3")                \
	X("an address without a MAC", drop(YCSB, "mac"), "ycsb@3")                                                \
	X("a MAC without an address", drop(YCSB, "ipv4"), "ycsb@3")                                               \
	X("an address outside the network", set_text(YCSB, "ipv4", "10.0.3.151"), "ycsb@3")                       \
	X("the gateway's address", set_text(YCSB, "ipv4", "10.0.2.2"), "ycsb@3")                                  \
	X("the broadcast address", set_text(YCSB, "ipv4", "10.0.2.255"), "ycsb@3")                                \
	X("a gateway elsewhere", set_text("/network", "gateway", "10.9.9.9"), "redis@2")                          \
	X("a netmask with holes", set_text("/network", "netmask", "255.0.255.0"), "netmask")                      \
	X("no netmask", drop("/network", "netmask"), "netmask")                                                   \
	X("frames of no size", set_cell("/network", "mtu", 0), "mtu 0")                                           \
	X("frames too large", set_cell("/network", "mtu", 9000), "mtu 9000")                                      \
	X("no network", must(fdt_del_node(tree, at("/network"))), "/network")                                     \
	X("no switch", must(fdt_del_node(tree, at(SWITCH))), "redis@2 needs a network")                           \
	X("another role", set_text(SWITCH, "role", "router"), "router")                                           \
	X("a switch with an address", set_text(REDIS, "role", "switch"), "switch@0 and redis@2")                  \
	X("a NIC driver that drives nothing", set_text(SWITCH, "role", "nic"), "switch@0")                        \
	X("a NIC driver away from the devices",                                                                   \
	  (drop(YCSB, "ipv4"), drop(YCSB, "mac"), set_text(YCSB, "role", "nic"),                                  \
	   set_cells(YCSB, "pci-id", 0x1af4, 0x1041)), "ycsb@3 drives the NIC, but cluster@1")                    \
	X("no channel to the switch", must(fdt_del_node(tree, at("/channels"))), "ycsb@3: no channel")            \
	X("a channel without room", set_memory(CHANNEL, 0x7f000000, 0x200000), "channel@0 has no room")           \
	X("an end of another kind", set_text("/run", "shutdown", "now"), "shutdown")

#define MACHINE0_CPU "/cpus/cpu@0,1"
#define MACHINE1_CPU "/cpus/cpu@1,1"

/* The same of the map of several machines. */
#define BREAKAGES_OF_MACHINES(X)                                                                                  \
	X("a machine that is not in the map", number = 2, "there is no machine 2")                                \
	X("machine numbers with a gap",                                                                           \
	  (set_cells("/cpus/cpu@1,0", "reg", 2, 0), set_cells(MACHINE1_CPU, "reg", 2, 1)), "cluster@1 is on machine 2") \
	X("no machine 0", (set_cells("/cpus/cpu@0,0", "reg", 1, 2), set_cells(MACHINE0_CPU, "reg", 1, 3)),        \
	  "no cluster on machine 0")                                                                              \
	X("a cluster on two machines", set_cells(MACHINE1_CPU, "reg", 0, 2), "cluster@1: cpu@1,0 and cpu@1,1")     \
	X("an APIC id twice on a machine", set_cells(MACHINE1_CPU, "reg", 1, 0), "cpu@1,0 and cpu@1,1")           \
	X("a core without its machine", set_cell(MACHINE1_CPU, "reg", 1), "cpu@1,1: reg")                         \
	X("an absent core of this machine", set_cells(MACHINE0_CPU, "reg", 0, 9), "cpu@0,1")                      \
	X("an absent core of this machine, which is another",                                                     \
	  (number = 1, set_cells(MACHINE1_CPU, "reg", 1, 9)), "cpu@1,1")                                          \
	X("a machine whose devices nobody has", drop(C1, "devices"), "no cluster on machine 1 has devices")       \
	X("memory that this machine lacks", set_memory(C0, 0x100000000, 0x40000000), "cluster@0")                 \
	X("a channel of memory", (drop(CHANNEL, "ivshmem"), drop(CHANNEL, "size"),                                \
	  set_memory(CHANNEL, 0x7f000000, 0x1000000)), "channel@0: cluster@0 and cluster@1 are in different machines") \
	X("a channel of both", set_memory(CHANNEL, 0x7f000000, 0x1000000), "channel@0 has both")                  \
	X("a channel with one device", set_cell(CHANNEL, "ivshmem", 0x11), "channel@0: ivshmem")                  \
	X("a channel without a size", drop(CHANNEL, "size"), "channel@0 has no size")                             \
	X("a channel of 3 MiB", must(fdt_setprop_u64(tree, at(CHANNEL), "size", 3ul << 20)), "channel@0: size")   \
	X("a channel for the kernels alone", must(fdt_setprop_u64(tree, at(CHANNEL), "size", 2ul << 20)),         \
	  "channel@0: size")                                                                                      \
	X("a channel without room", must(fdt_setprop_u64(tree, at(CHANNEL), "size", 4ul << 20)), "channel@0 has no room") \
	X("a device that no bus has", set_cells(CHANNEL, "ivshmem", 0x11, 32), "channel@0: 32")                   \
	X("the host bridge as a device", set_cells(CHANNEL, "ivshmem", 0, 0x11), "channel@0: 0")                  \
	X("a NIC on another machine",                                                                             \
	  (drop(YCSB, "ipv4"), drop(YCSB, "mac"), set_text(YCSB, "role", "nic"),                                  \
	   set_cells(YCSB, "pci-id", 0x1af4, 0x1041)), "ycsb@3 drives the NIC, but is not on machine 0")

#define ACCEPTED_OF_MACHINES(X)                                                                       \
	X("the sound map of two machines", (void)0)                                                   \
	X("the second of the two", number = 1)                                                        \
	X("memory that the other machine lacks", set_memory(C1, 0x100000000, 0x40000000))             \
	X("an absent core of the other machine", set_cells(MACHINE1_CPU, "reg", 1, 9))                \
	X("images that only the other machine needs", set_text(C1, "kernel", "mcs"))

/* X(what is unusual, the line that makes it so): these must pass */
#define ACCEPTED(X)                                                                                   \
	X("the sound map", (void)0)                                                                   \
	X("no SRAT", (machine.has_srat = false, machine.node_range_count = 0))                        \
	X("memory of a node without cores",                                                           \
	  (machine.node_range[1].range.size = 0x20000000, machine.node_range_count = 3,               \
	   machine.node_range[2] = (struct machine_node_range){ { 0x60000000, 0x20000000 }, 2 }))     \
	X("no applications", must(fdt_del_node(tree, at("/applications"))))                           \
	X("no channels, no network",                                                                  \
	  (must(fdt_del_node(tree, at("/channels"))), must(fdt_del_node(tree, at("/applications"))))) \
	X("the lockless kernel on one core",                                                          \
	  (set_text(C0, "kernel", "none"), set_cell(C0, "cpus", 1), set_cell(REDIS, "cpu", 1)))       \
	X("cores the map leaves out", (set_cell(C1, "cpus", 4), must(fdt_del_node(tree, at("/cpus/cpu@2")))))

static int failures;

static void fresh(void)
{
	make_machine();
	number = 0;
	must(fdt_open_into(sound, tree, ROOM));
	tree_size = ROOM;
}

static bool sound_to_loader(struct map *map, struct refusal *why)
{
	if (!map_parse(map, tree, tree_size, why))
		return false;
	map->machine = number;
	return map_check(map, &machine, why);
}

/* `culprit` NULL: must be accepted. */
static void judge(const char *what, const char *culprit)
{
	static struct map map;
	struct refusal why = { "" };
	bool good = sound_to_loader(&map, &why);
	bool expected = culprit == NULL ? good : !good && strstr(why.text, culprit) != NULL;

	printf("%s %s: %s\n", expected ? "ok  " : "FAIL", what, good ? "accepted" : why.text);
	failures += !expected;
}

/* Whatever single byte is wrong, the checks come to an end and stay inside the tree (with sanitizers: provably). */
static void flip_every_byte(void)
{
	static struct map map;
	struct refusal why;
	uint64_t refused = 0;

	for (uint64_t i = 0; i < sound_size; i++) {
		fresh();
		must(fdt_pack(tree));
		tree_size = fdt_totalsize(tree);
		tree[i] ^= 1 << i % 8;
		refused += !sound_to_loader(&map, &why);
	}
	printf("ok   %lu maps of one wrong bit: %lu refused\n", (unsigned long)sound_size, (unsigned long)refused);
}

static bool load(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (file == NULL)
		return false;
	sound_size = fread(sound, 1, sizeof sound, file);
	fclose(file);
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 3 || !load(argv[1])) {
		fprintf(stderr, "usage: test-map SOUND-MAP.dtb SOUND-MAP-OF-MACHINES.dtb\n");
		return 2;
	}
#define ACCEPT(what, line)   \
	fresh();             \
	line;                \
	judge(what, NULL);
#define BREAK(what, line, culprit) \
	fresh();                   \
	line;                      \
	judge(what, culprit);
	ACCEPTED(ACCEPT)
	BREAKAGES(BREAK)
	flip_every_byte();
	if (!load(argv[2]))
		return 2;
	ACCEPTED_OF_MACHINES(ACCEPT)
	BREAKAGES_OF_MACHINES(BREAK)
	flip_every_byte();
	return failures != 0;
}
