/* SPDX-License-Identifier: BSD-2-Clause */
/* A sound map and its machine, and ways to edit them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test-map.h"

enum { ENTRY = 1024 }; /* of an executable, from the start of its segment */

_Alignas(8) unsigned char kernel_file[4096], program_file[4096], redis_file[4096];

int at(const char *path)
{
	int node = fdt_path_offset(tree, path);
	if (node < 0) {
		fprintf(stderr, "test-map.dts has no %s\n", path);
		exit(2);
	}
	return node;
}

void must(int error)
{
	if (error != 0) {
		fprintf(stderr, "libfdt: %s\n", fdt_strerror(error));
		exit(2);
	}
}

void set_cell(const char *path, const char *name, uint32_t value)
{
	must(fdt_setprop_u32(tree, at(path), name, value));
}

void set_cells(const char *path, const char *name, uint32_t first, uint32_t second)
{
	must(fdt_setprop_u32(tree, at(path), name, first));
	must(fdt_appendprop_u32(tree, at(path), name, second));
}

/* The cores of the cluster that has the devices. */
void set_high_ids(void)
{
	set_cell("/cpus/cpu@0", "reg", machine.cpu[0].apic = 256);
	set_cell("/cpus/cpu@1", "reg", machine.cpu[1].apic = 300);
}

void set_text(const char *path, const char *name, const char *value)
{
	must(fdt_setprop_string(tree, at(path), name, value));
}

void set_memory(const char *path, uint64_t base, uint64_t size)
{
	must(fdt_setprop_u64(tree, at(path), "memory", base));
	must(fdt_appendprop_u64(tree, at(path), "memory", size));
}

void drop(const char *path, const char *name)
{
	must(fdt_delprop(tree, at(path), name));
}

struct fdt_property *property(const char *path, const char *name)
{
	return fdt_get_property_w(tree, at(path), name, NULL);
}

/* As the file has it: libfdt's own functions would not write that. */
void set_length(const char *path, const char *name, uint32_t length)
{
	property(path, name)->len = cpu_to_fdt32(length);
}

/* libfdt takes what should be the second property's name, 4, for a NOP, where a length of -4 leads back to it. */
void set_length_minus_4(const char *path, const char *name)
{
	struct fdt_property *p = property(path, name);

	p->nameoff = cpu_to_fdt32(FDT_NOP);
	p->len = cpu_to_fdt32(0xfffffffc);
}

void rename_property(const char *path, const char *name, const char *other)
{
	property(path, name)->nameoff = property(path, other)->nameoff;
}

void rename_node(const char *path, const char *name)
{
	must(fdt_set_name(tree, at(path), name));
}

/* `count` more programs without an address, a@100 and so on, each as the one before it. */
void add_applications(uint32_t count, bool with_address)
{
	for (uint32_t i = 0; i < count; i++) {
		int node;
		char name[16], text[16];

		snprintf(name, sizeof name, "a@%x", 0x100 + i);
		node = fdt_add_subnode(tree, at("/applications"), name);
		must(node < 0 ? node : 0);
		must(fdt_setprop_string(tree, node, "program", "ycsb"));
		must(fdt_setprop_u32(tree, node, "cpu", 1));
		must(fdt_setprop_u64(tree, node, "heap", 2 << 20));
		if (!with_address)
			continue;
		snprintf(text, sizeof text, "10.0.2.%u", i < 98 ? 3 + i : 152 + i - 98);
		must(fdt_setprop_string(tree, node, "ipv4", text));
		must(fdt_setprop(tree, node, "mac", (uint8_t[]){ 2, 0x53, 0x4b, 0, 1, (uint8_t)i }, 6));
	}
}

/* A switch in the second cluster, with YCSB behind it. NULL: it names no switch above. */
void add_switch(const char *above)
{
	static char cpu[4];
	int node = fdt_add_subnode(tree, at("/applications"), "below@9");

	must(node < 0 ? node : 0);
	must(fdt_setprop_string(tree, node, "program", "ycsb"));
	must(fdt_setprop_string(tree, node, "role", "switch"));
	must(fdt_setprop_u64(tree, node, "heap", 2 << 20));
	memcpy(cpu, fdt_getprop(tree, at(YCSB), "cpu", NULL), sizeof cpu);
	must(fdt_setprop(tree, at(BELOW), "cpu", cpu, sizeof cpu));
	if (above != NULL)
		set_text(BELOW, "switch", above);
	set_text(YCSB, "switch", "below@9");
}

/* `count` arguments of `size` characters each. */
void set_arguments(const char *path, uint32_t count, uint32_t size)
{
	static char text[1 << 15];

	memset(text, 'a', sizeof text);
	text[size] = '\0';
	for (uint32_t i = 0; i < count; i++)
		must(fdt_appendprop_string(tree, at(path), "args", text));
}

/* The first `count` of add_applications(). */
void name_all(const char *path, const char *property, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof name, "a@%x", 0x100 + i);
		must(fdt_appendprop_string(tree, at(path), property, name));
	}
}

void drop_module(const char *name)
{
	struct machine_module *module = (struct machine_module *)machine_module(&machine, name);
	module->name[0] = '\0';
}

struct machine_module *module(const char *name)
{
	return (struct machine_module *)machine_module(&machine, name);
}

/* An executable with one segment of a page, whose contents do not matter. */
static void make_elf(unsigned char *file, uint64_t vaddr)
{
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			      .e_entry = vaddr + ENTRY, .e_phoff = sizeof header, .e_ehsize = sizeof header,
			      .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1 };
	const struct boot_contract contract = { BOOT_INFO_MAGIC, sizeof(struct boot_info) }; /* as kernels have it */
	Elf64_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = vaddr, .p_paddr = vaddr,
			       .p_filesz = 4096, .p_memsz = 4096, .p_align = 4096 };

	memset(file, 0, 4096);
	memcpy(file, &header, sizeof header);
	memcpy(file + sizeof header, &segment, sizeof segment);
	memcpy(file + ENTRY - sizeof contract, &contract, sizeof contract);
}

Elf64_Phdr *segment_of(unsigned char *file)
{
	return (Elf64_Phdr *)(void *)(file + sizeof(Elf64_Ehdr));
}

Elf64_Ehdr *elf_of(unsigned char *file)
{
	return (Elf64_Ehdr *)(void *)file;
}

void add_segment(unsigned char *file, uint64_t vaddr)
{
	segment_of(file)[1] = segment_of(file)[0];
	segment_of(file)[1].p_vaddr = vaddr;
	elf_of(file)->e_phnum = 2;
}

static void add_module(const char *name, const void *data)
{
	struct machine_module *m = &machine.module[machine.module_count++];
	snprintf(m->name, sizeof m->name, "%s", name);
	m->data = data;
	m->size = 4096;
}

/* QEMU's q35 with two NUMA nodes of 1 GiB under SeaBIOS, as its firmware describes it. */
void make_machine(void)
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
	make_elf(redis_file, 0x400000);
	add_module("redis-server", redis_file);
	add_module("ycsb", program_file);
	add_module("switch", program_file);
	machine.x2apic = true;
}
