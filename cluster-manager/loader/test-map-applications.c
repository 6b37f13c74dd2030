/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors in applications, their programs and the network. */
#include <stdio.h>
#include <skerry/channel.h>
#include <skerry/port.h>
#include <skerry/process.h>

#include "test-map.h"

/* So many ports have room in a channel of 4 MiB. */
enum { IN_2M = (0x400000 - CHANNEL_PORTS) / PORT_SIZE };

/* Programs of the first cluster that use the lower switch of the second. */
static void add_behind(unsigned count)
{
	add_applications(count, true);
	for (unsigned i = 0; i < count; i++) {
		char path[40];

		snprintf(path, sizeof(path), "/applications/a@%x", 0x100 + i);
		set_text(path, "switch", "below@9");
	}
}

/* Makes a volume server of the switch, and leaves the network without one. */
static void volume(const char *mount)
{
	set_text(SWITCH, "role", "volume");
	set_text(SWITCH, "mount", mount);
	set_cells(SWITCH, "pci-id", 0x1af4, 0x1049);
}

static void break_volumes(void)
{
	BREAK("a volume without a place", (drop(YCSB, "ipv4"), drop(YCSB, "mac"), set_text(YCSB, "role", "volume"),
	      set_cells(YCSB, "pci-id", 0x1af4, 0x1049)), "ycsb@3: a volume server has mount");
	BREAK("a volume without a device", (drop(YCSB, "ipv4"), drop(YCSB, "mac"), set_text(YCSB, "role", "volume"),
	      set_text(YCSB, "mount", "/data")), "ycsb@3 drives a device, but cluster@1");
	BREAK("a volume of nobody", volume("/data"), "switch@0 is nobody's volume");
	BREAK("a volume of another cluster", (volume("/data"), set_text(YCSB, "volumes", "switch@0")),
	      "ycsb@3: the server of its volume, switch@0, is in another cluster");
	BREAK("a volume at no path", volume("data"), "switch@0: mount \"data\"");
	BREAK("a volume at the root", volume("/"), "switch@0: mount \"/\"");
	BREAK("a volume above", volume("/data/.."), "switch@0: mount");
	BREAK("a volume with an empty name", volume("/data//x"), "switch@0: mount");
	BREAK("a volume behind a slash", volume("/data/"), "switch@0: mount");
	BREAK("what is no volume", set_text(REDIS, "volumes", "switch@0"), "redis@2: switch@0 is no volume");
}

static void break_resources(void)
{
	BREAK("more storage than heap", must(fdt_setprop_u64(tree, at(YCSB), "storage", 1ull << 40)),
	      "ycsb@3: storage 0x10000000000 is more");
	BREAK("storage of one cell", must(fdt_setprop_u32(tree, at(YCSB), "storage", 1)),
	      "ycsb@3: storage is not one size");
	BREAK("a user without a group", must(fdt_setprop_u32(tree, at(YCSB), "user", 1)),
	      "ycsb@3: user is not a uid and a gid");
	BREAK("a user beyond all numbers", must(fdt_setprop_u64(tree, at(YCSB), "user", 1ull << 63)),
	      "ycsb@3: user 2147483648, group 0");
	BREAK("no threads", must(fdt_setprop_u32(tree, at(YCSB), "threads", 0)),
	      "ycsb@3: threads are from 1 to 64, not 0");
	BREAK("no processes", must(fdt_setprop_u32(tree, at(YCSB), "processes", 0)),
	      "ycsb@3: processes are from 1 to 16, not 0");
	BREAK("too many processes", must(fdt_setprop_u32(tree, at(YCSB), "processes", 17)),
	      "ycsb@3: processes are from 1 to 16, not 17");
	BREAK("an unknown restart", must(fdt_setprop_string(tree, at(YCSB), "restart", "once")),
	      "ycsb@3: restart \"once\" is neither never, on-failure nor always");
	BREAK("too many restarts", must(fdt_setprop_u32(tree, at(YCSB), "restart-limit", 17)),
	      "ycsb@3: restart-limit is up to 16, not 17");
	BREAK("too long a delay", must(fdt_setprop_u32(tree, at(YCSB), "restart-delay", 5001)),
	      "ycsb@3: restart-delay is up to 5000 ms, not 5001");
	BREAK("too many threads", must(fdt_setprop_u32(tree, at(YCSB), "threads", 65)),
	      "ycsb@3: threads are from 1 to 64, not 65");
	BREAK("arguments without room", set_arguments(YCSB, 1, 15860),
	      "ycsb@3: its arguments and its environment take 15882 bytes, and a program has room for 15872");
	BREAK("heaps that leave no memory", must(fdt_setprop_u64(tree, at(YCSB), "heap", 0x3f000000)),
	      "cluster@1: heaps of 1008 MiB do not fit into its 1008 MiB (largest: ycsb@3)");
	BREAK("heaps of many processes", (add_applications(1, false),
	                                  must(fdt_setprop_u64(tree, at("/applications/a@100"), "heap", 0x8000000)),
	                                  set_cell("/applications/a@100", "processes", 16)),
	      "MiB do not fit into its 1024 MiB (largest: a@100)");
	BREAK("a stack of one without an address",
	      (drop(YCSB, "ipv4"), drop(YCSB, "mac"), add_applications(1, false),
	       set_text("/applications/a@100", "stack", "ycsb@3"),
	      set_cell(YCSB, "cpu", 1)), "a@100: the program has the address");
	BREAK("a stack of two", (add_applications(1, false), set_text(REDIS, "stack", "a@100"),
	                         set_cell(YCSB, "cpu", 2),
	      set_text(YCSB, "stack", "a@100")), "redis@2 and ycsb@3 have the same stack a@100");
	BREAK("a stack that forks", (add_applications(1, false), set_text(REDIS, "stack", "a@100"),
	                             set_cell("/applications/a@100", "processes", 2)),
	      "redis@2: a@100 can be nobody's stack");
	BREAK("waiting twice", (set_text(YCSB, "await", "redis@2"),
	                        must(fdt_appendprop_string(tree, at(YCSB), "await", "redis@2"))),
	      "ycsb@3 awaits redis@2 twice");
	BREAK("waiting for too many", (add_applications(129, false), name_all(YCSB, "await", 129)),
	      "ycsb@3 awaits more than 128");
	BREAK("a heap larger than a program's addresses", must(fdt_setprop_u64(tree, at(REDIS), "heap", 1ul << 47)),
	      "redis@2: heap");
	BREAK("waiting for nobody", set_text(YCSB, "await", "redis@9"), "redis@9");
	BREAK("statistics where nobody collects them",
	      must(fdt_setprop_empty(tree, at(YCSB), "statistics")), "ycsb@3 has statistics");
	BREAK("a stack that is nobody", set_text(REDIS, "stack", "stack@9"), "stack@9");
	BREAK("a stack of oneself", set_text(REDIS, "stack", "redis@2"), "redis@2");
	BREAK("a stack with an address", set_text(REDIS, "stack", "ycsb@3"), "ycsb@3");
	BREAK("waiting for itself", set_text(YCSB, "await", "ycsb@3"), "ycsb@3");
	BREAK("waiting in a circle", set_text(REDIS, "await", "ycsb@3"), "redis@2");
	BREAK("no heap", drop(REDIS, "heap"), "redis@2");
}

void break_applications(void)
{
	BREAK("a program the cluster lacks", set_text(YCSB, "program", "switch"), "ycsb@3: program switch");
	BREAK("an application on no core", set_cell(YCSB, "cpu", 99), "ycsb@3");
	BREAK("an application outside all clusters",
	      (set_cell(C1, "cpus", 3), set_cell(YCSB, "cpu", 4)), "ycsb@3: cpu@3 is in no cluster");
	ACCEPT("a program on both cores of its cluster", set_cells(YCSB, "cpu", 4, 3));
	BREAK("cores of two clusters", set_cells(YCSB, "cpu", 3, 1),
	      "ycsb@3: cpu@0 is of cluster@0 and cpu@2 of cluster@1: a program's cores are of one cluster");
	BREAK("a core twice", set_cells(YCSB, "cpu", 4, 4), "ycsb@3: it has cpu@3 twice");
	BREAK("a core that is none behind one", set_cells(YCSB, "cpu", 4, 99),
	      "ycsb@3: its cpu names no node of /cpus");
	BREAK("no core at all", must(fdt_setprop(tree, at(YCSB), "cpu", "", 0)),
	      "ycsb@3: cpu is not a list of phandles");
	BREAK("half a core", must(fdt_setprop(tree, at(YCSB), "cpu", "\0\0\0\4\0\0", 6)),
	      "ycsb@3: cpu is not a list of phandles");
	BREAK("an unknown placement", must(fdt_setprop_string(tree, at(YCSB), "placement", "last")),
	      "ycsb@3: placement \"last\" is neither spread nor first");
	BREAK("a switch on two cores", set_cells(SWITCH, "cpu", 1, 2),
	      "switch@0: 2 cores are more than the 1 that a switch or a driver can have");
	BREAK("cores without number", must(fdt_setprop(tree, at(YCSB), "cpu", kernel_file, 4 * (PROCESS_CORES + 1))),
	      "ycsb@3: 65 cores are more than the 64 that a program can have");
	BREAK("a heap not in large pages", must(fdt_setprop_u64(tree, at(REDIS), "heap", 0x1000)), "redis@2");
	BREAK("a heap larger than the cluster", must(fdt_setprop_u64(tree, at(REDIS), "heap", 1ul << 40)), "redis@2");
	BREAK("an application's name of 32 bytes", rename_node(YCSB, "y123456789012345678901234567890@3"),
	      "more than 31 bytes");
	BREAK("arguments that do not end", must(fdt_setprop(tree, at(YCSB), "args", "a\0b", 3)), "ycsb@3: args");
	BREAK("half a pci-id", set_cell(YCSB, "pci-id", 0x1af4), "ycsb@3: pci-id");
	BREAK("too many applications", add_applications(MAP_MAX_APPLICATIONS - 2, false), "more than");
	BREAK("64 arguments", set_arguments(YCSB, 64, 1), "ycsb@3: 64 arguments are more than 63");
	BREAK("a variable without a value", must(fdt_setprop_string(tree, at(YCSB), "env", "A")),
	      "ycsb@3: env \"A\" is not NAME=VALUE");
	BREAK("a variable without a name", must(fdt_setprop_string(tree, at(YCSB), "env", "=A")),
	      "ycsb@3: env \"=A\" is not NAME=VALUE");
	BREAK("arguments without a string", must(fdt_setprop(tree, at(YCSB), "args", "", 0)),
	      "ycsb@3: args is not a list of strings");
	BREAK("a barrier with a value", must(fdt_setprop_u32(tree, at(YCSB), "barrier", 1)),
	      "ycsb@3: barrier takes no value");
	BREAK("an environment that does not end", must(fdt_setprop(tree, at(YCSB), "env", "A=", 2)), "ycsb@3: env");
	BREAK("a folder that is relative", must(fdt_setprop_string(tree, at(YCSB), "cwd", "tmp")),
	      "ycsb@3: cwd is not an absolute path");
	BREAK("files that the cluster has not", must(fdt_setprop_string(tree, at(YCSB), "files", "files+9")),
	      "ycsb@3: files files+9 are not among the modules of cluster@");
	BREAK("an executable as files", must(fdt_setprop_string(tree, at(YCSB), "files", "ycsb")),
	      "module ycsb is not a tree of files of version 1");
	break_resources();
	break_volumes();
}

void break_cables(void)
{
	BREAK("a cable to nobody", set_text(YCSB, "cables", "redis@9"),
	      "ycsb@3 has a cable to redis@9, which is no application");
	BREAK("a cable to oneself", set_text(YCSB, "cables", "ycsb@3"), "ycsb@3 has a cable to itself");
	BREAK("a cable to another cluster", set_text(YCSB, "cables", "redis@2"),
	      "ycsb@3 has a cable to redis@2, which is in another cluster");
	BREAK("a cable to one without an address", set_text(YCSB, "cables", "switch@0"),
	      "ycsb@3 has a cable to switch@0, and switch@0 has no address");
	BREAK("a cable of one without an address", set_text(SWITCH, "cables", "redis@2"),
	      "switch@0 has a cable to redis@2, and switch@0 has no address");
	BREAK("cables that do not end", must(fdt_setprop(tree, at(YCSB), "cables", "a\0b", 3)), "ycsb@3: cables");
	BREAK("the same cable twice", (set_text(YCSB, "cables", "redis@2"),
	                               must(fdt_appendprop_string(tree, at(YCSB), "cables", "redis@2"))),
	      "ycsb@3 has a cable to redis@2 twice");
	BREAK("a cable that both ends name",
	      (add_applications(1, true), set_text(REDIS, "cables", "a@100"),
	       set_text("/applications/a@100", "cables", "redis@2")),
	      "a@100 and redis@2 both have a cable to the other");
	BREAK("a cable too many", (add_applications(PROCESS_MAX_CABLES + 1, true),
	                           name_all(REDIS, "cables", PROCESS_MAX_CABLES + 1)),
	      "redis@2: its cable to a@110 is one too many for redis@2: there may be 16");
	BREAK("a cable too many, named at both ends",
	      (add_applications(PROCESS_MAX_CABLES + 1, true), name_all(REDIS, "cables", PROCESS_MAX_CABLES),
	      set_text("/applications/a@110", "cables", "redis@2")),
	      "redis@2: its cable to a@10f is one too many for redis@2"); /* a@110 stands before redis@2 in the map */
}

void break_programs(void)
{
	BREAK("a position-independent program", elf_of(redis_file)->e_type = ET_DYN,
	      "redis-server is position-independent");
	BREAK("a program writable and executable", segment_of(redis_file)->p_flags |= PF_W,
	      "redis-server: segment at 0x400000 is writable");
	BREAK("a program in the kernel's half", segment_of(redis_file)->p_vaddr = KERNEL_IMAGE_BASE,
	      "redis-server: segment");
	BREAK("a program over its heap", segment_of(redis_file)->p_memsz = 1ul << 32, "redis-server: segment");
	BREAK("a program of overlapping segments", add_segment(redis_file, 0x400800), "redis-server: segments");
	BREAK("a program whose segments are out of order", add_segment(redis_file, 0x200000), "out of order");
	BREAK("a program with crooked headers", elf_of(redis_file)->e_phoff += 4, "redis-server: its program headers");
	BREAK("a program without entry", elf_of(redis_file)->e_entry = 0x600000, "redis-server: entry point 0x600000");
}

void break_network(void)
{
	BREAK("an address twice", set_text(YCSB, "ipv4", "10.0.2.101"), "redis@2 and ycsb@3");
	BREAK("an address of letters", set_text(YCSB, "ipv4", "10.0.2.x"), "ycsb@3");
	BREAK("an address of 256", set_text(YCSB, "ipv4", "10.0.2.256"), "ycsb@3");
	BREAK("a MAC twice", must(fdt_setprop(tree, at(YCSB), "mac", "\2SK\0\0\2", 6)), "redis@2 and ycsb@3");
	BREAK("a group MAC", must(fdt_setprop(tree, at(YCSB), "mac", "\3SK\0\0\2", 6)), "ycsb@3");
	BREAK("a short MAC", must(fdt_setprop(tree, at(YCSB), "mac", "\2SK", 3)), "ycsb@3");
	BREAK("an address of zeros", set_text(YCSB, "ipv4", "0.0.0.0"), "ycsb@3: ipv4");
	BREAK("an address of four digits", set_text(YCSB, "ipv4", "0010.0.2.151"), "ycsb@3: ipv4");
	BREAK("too many network ports", add_applications(PROCESS_MAX_PORTS - 1, true),
	      "is one too many with a network port");
	BREAK("a MAC of zeros", must(fdt_setprop(tree, at(YCSB), "mac", "\0\0\0\0\0\0", 6)), "ycsb@3");
	BREAK("an address without a MAC", drop(YCSB, "mac"), "ycsb@3");
	BREAK("a MAC without an address", drop(YCSB, "ipv4"), "ycsb@3");
	BREAK("an address outside the network", set_text(YCSB, "ipv4", "10.0.3.151"), "ycsb@3");
	BREAK("the gateway's address", set_text(YCSB, "ipv4", "10.0.2.2"), "ycsb@3");
	BREAK("the broadcast address", set_text(YCSB, "ipv4", "10.0.2.255"), "ycsb@3");
	BREAK("a gateway elsewhere", set_text("/network", "gateway", "10.9.9.9"), "redis@2");
	BREAK("a netmask with holes", set_text("/network", "netmask", "255.0.255.0"), "netmask");
	BREAK("no gateway", drop("/network", "gateway"), "network has no gateway");
	BREAK("an address with a zero before it", set_text(YCSB, "ipv4", "10.0.2.051"), "ycsb@3: ipv4");
	BREAK("no netmask", drop("/network", "netmask"), "netmask");
	BREAK("frames of no size", set_cell("/network", "mtu", 0), "mtu 0");
	BREAK("frames too large", set_cell("/network", "mtu", 9000), "mtu 9000");
	BREAK("no network", must(fdt_del_node(tree, at("/network"))), "/network");
	BREAK("no switch", must(fdt_del_node(tree, at(SWITCH))), "redis@2 needs a network");
	BREAK("another role", set_text(SWITCH, "role", "router"), "router");
	BREAK("a switch with an address", set_text(REDIS, "role", "switch"), "switch@0 and redis@2");
	BREAK("two NIC drivers", (drop(YCSB, "ipv4"), drop(YCSB, "mac"), set_text(YCSB, "role", "nic"),
	      set_cells(YCSB, "pci-id", 0x1af4, 0x1041), drop(REDIS, "ipv4"), drop(REDIS, "mac"),
	      set_text(REDIS, "role", "nic"), set_cells(REDIS, "pci-id", 0x1af4, 0x1041)),
	      "redis@2 and ycsb@3 both have role nic");
	BREAK("a NIC driver that drives nothing", set_text(SWITCH, "role", "nic"), "switch@0");
	BREAK("a NIC driver away from the devices",
	      (drop(YCSB, "ipv4"), drop(YCSB, "mac"), set_text(YCSB, "role", "nic"),
	      set_cells(YCSB, "pci-id", 0x1af4, 0x1041)), "ycsb@3 drives the NIC, but cluster@1");
	BREAK("no channel to the switch", must(fdt_del_node(tree, at("/channels"))), "ycsb@3: no channel");
	BREAK("a channel without room", set_memory(CHANNEL, 0x7f000000, 0x200000), "channel@0 has no room");
	BREAK("an end of another kind", set_text("/run", "shutdown", "now"), "shutdown");
	BREAK("too short a patience", set_cell("/run", "patience", 99), "run: patience is 100 to 60000 ms, not 99");
	BREAK("too long a patience", set_cell("/run", "patience", 60001),
	      "run: patience is 100 to 60000 ms, not 60001");
}

void break_switches(void)
{
	BREAK("two roots", add_switch(NULL), "below@9 and switch@0 both have role switch");
	BREAK("a switch below itself", add_switch("below@9"), "below@9: its switch below@9 is not switch@0");
	BREAK("switches in a circle", (add_switch("switch@0"), set_text(SWITCH, "switch", "below@9")),
	      "no application is the switch above all");
	BREAK("three levels of switches",
	      (add_switch("switch@0"), set_text(REDIS, "switch", "below@9"), drop(REDIS, "ipv4"), drop(REDIS, "mac"),
	      set_text(REDIS, "role", "switch")), "redis@2: its switch below@9 is not switch@0");
	BREAK("a switch below nobody", add_switch("switch@7"), "below@9: its switch switch@7 is no application");
	BREAK("a user of nobody's switch", set_text(YCSB, "switch", "switch@7"),
	      "ycsb@3: its switch switch@7 is no application");
	BREAK("a user of one that is no switch", set_text(YCSB, "switch", "redis@2"), "ycsb@3: redis@2 is no switch");
	BREAK("a user of itself", set_text(YCSB, "switch", "ycsb@3"), "ycsb@3: ycsb@3 is no switch");
	BREAK("a switch for one without an address",
	      (set_text(YCSB, "switch", "switch@0"), drop(YCSB, "ipv4"), drop(YCSB, "mac")),
	      "ycsb@3 has switch switch@0, and neither");
	BREAK("a switch that is no name", set_cell(YCSB, "switch", 0x41424344), "ycsb@3: switch");
	BREAK("a NIC driver at a lower switch",
	      (add_switch("switch@0"), drop(REDIS, "ipv4"), drop(REDIS, "mac"), set_text(REDIS, "role", "nic"),
	      set_cells(REDIS, "pci-id", 0x1af4, 0x1041), set_text(REDIS, "switch", "below@9")),
	      "redis@2: its switch below@9 is not switch@0");
	BREAK("a lower switch without a channel to its upper one",
	      (add_switch("switch@0"), must(fdt_del_node(tree, at("/channels")))),
	      "below@9: no channel joins cluster@1 to cluster@0");
	BREAK("a lower switch whose channel has no room",
	      (add_switch("switch@0"), set_memory(CHANNEL, 0x7f000000, 0x200000)),
	      "channel@0 has no room for the network port of below@9");
	BREAK("a lower switch with an address", (add_switch("switch@0"), set_text(YCSB, "role", "switch")),
	      "ycsb@3 is the switch and can have no");
	BREAK("a user of a switch in another cluster, and no channel",
	      (set_text(YCSB, "switch", "switch@0"), must(fdt_del_node(tree, at("/channels")))), "ycsb@3: no channel");
	BREAK("one port too many with a lower switch",
	      (add_switch("switch@0"), add_applications(PROCESS_MAX_PORTS - 2, true)), "is one too many");
	BREAK("ports of both sides in a channel for fewer",
	      (add_switch("switch@0"), add_behind(IN_2M), set_memory(CHANNEL, 0x7f000000, 0x400000)),
	      "channel@0 has no room");
}

void accept_switches(void)
{
	ACCEPT("a lower switch", add_switch("switch@0"));
	ACCEPT("ports of both sides that fill a channel",
	       (add_switch("switch@0"), add_behind(IN_2M - 1), set_memory(CHANNEL, 0x7f000000, 0x400000)));
	ACCEPT("a user that names the root switch", set_text(REDIS, "switch", "switch@0"));
	ACCEPT("a user of the lower switch in another cluster",
	       (add_switch("switch@0"), set_text(REDIS, "switch", "below@9")));
	ACCEPT("as many ports as there may be, and a lower switch",
	       (add_switch("switch@0"), add_applications(PROCESS_MAX_PORTS - 3, true)));
}

/* 8 GiB more for the first cluster: a heap has 2 MiB at least. */
static void add_memory(void)
{
	ranges_add(&machine.ram, 4ul << 30, 8ul << 30);
	ranges_add(&machine.known, 4ul << 30, 8ul << 30);
	must(fdt_appendprop_u64(tree, at(C0), "memory", 4ul << 30));
	must(fdt_appendprop_u64(tree, at(C0), "memory", 8ul << 30));
}

void accept_applications(void)
{
	ACCEPT("as many applications as there may be",
	       (must(fdt_setprop_u64(tree, at(REDIS), "heap", 2 << 20)),
	       must(fdt_setprop_u64(tree, at(YCSB), "heap", 2 << 20)),
	       add_memory(), add_applications(MAP_MAX_APPLICATIONS - 3, false)));
	ACCEPT("as many ports as there may be", add_applications(PROCESS_MAX_PORTS - 2, true));
	ACCEPT("as many cables as there may be",
	       (add_applications(PROCESS_MAX_CABLES, true), name_all(REDIS, "cables", PROCESS_MAX_CABLES)));
	ACCEPT("as many arguments as there may be", set_arguments(YCSB, 63, 242));
	ACCEPT("waiting for as many as one may", (add_applications(127, false), name_all(YCSB, "await", 127)));
}
