/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loader: one cluster map in, one running kernel per cluster out.
 *
 * Its own memory (1 MiB .. loader_end), the first 1 MiB and the firmware's
 * tables are never given away; GRUB's modules are, once they are copied.
 */
#include <string.h>

#include "acpi.h"
#include "console.h"
#include "cpu.h"
#include "exceptions.h"
#include "loader.h"
#include "read.h"
#include "resident.h"

enum { MULTIBOOT2_MAGIC = 0x36d76289, MSR_EFER = 0xc0000080, EFER_SCE = 1, EFER_NXE = 1 << 11, ADDRESS_BITS_MAX = 52 };

void loader_main(uint32_t magic, const void *info);

static struct machine machine;
static struct options options;
static struct cluster_map map;
static struct cluster clusters[BOOT_MAX_CLUSTERS];
static _Alignas(8) char map_blob[MAP_MAX_SIZE];

static void read_cpu(struct machine *m)
{
	uint32_t extended = cpuid(0x80000000, 0).eax, bits;

	m->counted = is_tcg() && clock_counts_instructions();
	bits = extended >= 0x80000008 ? cpuid(0x80000008, 0).eax & 0xff : 36;
	m->address_limit = 1ul << (bits < ADDRESS_BITS_MAX ? bits : ADDRESS_BITS_MAX);
	memory_reach(m->address_limit);
	write_msr(MSR_EFER, read_msr(MSR_EFER) | EFER_NXE | EFER_SCE);
}

/* GRUB aligns modules, an archive does not; libfdt wants 8 bytes. */
static void read_map(const struct machine *m, uint32_t number)
{
	const struct machine_module *module = machine_module(m, "map");
	struct error_message err;

	if (module == NULL)
		panic("there is no module map");
	if (module->size > sizeof map_blob)
		panic("map: %lu bytes are more than %u", module->size, MAP_MAX_SIZE);
	memcpy(map_blob, module->data, module->size);
	if (!cluster_map_read(&map, map_blob, module->size, &err))
		panic("%s", err.text);
	map.machine = number;
	if (!map_check(&map, m, &err) || !map_check_labels(&map, map_blob, m, &err))
		panic("%s", err.text);
	map_list_nodes(&map, m, print);
	map_say_nodes(&map, m, print);
}

/* Both sides start from zeroes: a generation of 0 says that a side has not started. */
static void clear_channels(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < clusters[i].info->channel_count; j++) {
			const struct boot_channel *channel = &clusters[i].info->channel[j];

			if (channel->side == 0 && !channel->remote)
				memset((void *)channel->memory.base, 0, channel->memory.size);
		}
}

/* Masks the firmware's interrupts; kernels use the I/O APICs. */
static void mask_pic(const struct machine *m)
{
	if (!m->has_pic)
		return;
	out8(0x21, 0xff);
	out8(0xa1, 0xff);
}

static void say_loaded(const struct cluster *c)
{
	print("%s: kernel %s, %u core%s, %lu MiB free, %u modules, %u channel%s", c->map->name, c->map->kernel,
	    c->map->cpu_count, c->map->cpu_count == 1 ? "" : "s", ranges_total(&c->free) >> 20,
	    c->info->module_count, c->info->channel_count, c->info->channel_count == 1 ? "" : "s");
}

/*
 * With -icount QEMU's emulator ends with "Bad icount read" at an access to x2APIC's timer: a machine that counts has
 * xAPIC as far as that has ids.
 */
static void choose_apic(struct machine *m)
{
	bool wanted = !m->counted;

	for (uint32_t i = 0; i < m->cpu_count; i++)
		wanted |= m->cpu[i].enabled && m->cpu[i].apic > 254;
	m->x2apic = (cpuid(1, 0).ecx >> 21 & 1) && wanted;
}

static void read_options(const struct machine *m)
{
	struct error_message err;

	if (!options_parse(&options, m->command_line, &err))
		panic("%s", err.text);
}

void loader_main(uint32_t magic, const void *info)
{
	uint32_t count;

	console_early(&machine, &options);
	exceptions_init();
	cpu_check(cpuid, is_tcg());
	read_cpu(&machine);
	if (magic == MULTIBOOT2_MAGIC)
		multiboot2_read(&machine, info);
	else
		pvh_read(&machine, info);
	memory_settle(&machine);
	read_options(&machine);
	acpi_read(&machine);
	choose_apic(&machine);
	console_choose();
	print("%u cores, %lu MiB of RAM, %u modules, %s", machine.cpu_count, ranges_total(&machine.ram) >> 20,
	    machine.module_count, machine.x2apic ? "x2APIC" : "xAPIC");
	read_map(&machine, options.machine);

	mask_pic(&machine);
	apic_init(&machine);
	clock_calibrate(&machine, options.clock);
	count = clusters_place(clusters, &map, &machine);
	resident_place(clusters, count, &machine, (uint32_t)(trampoline_page(&machine) >> 12));
	ivshmem_meet(clusters, count);
	for (uint32_t i = 0; i < count; i++) {
		cluster_load(&clusters[i], &map, &machine);
		say_loaded(&clusters[i]);
	}
	clear_channels(count);
	clusters_start(clusters, count, &map, &machine);
}
