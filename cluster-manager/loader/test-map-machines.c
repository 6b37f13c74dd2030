/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors in a map of several machines, and allowed differences between them. */
#include "test-map.h"

#define MACHINE0_CPU "/cpus/cpu@0,1"
#define C2 "/clusters/cluster@2"
#define CHANNEL1 "/channels/channel@1"
#define MACHINE1_CPU "/cpus/cpu@1,1"

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
