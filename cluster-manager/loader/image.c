/* SPDX-License-Identifier: BSD-2-Clause */
/* Filling the places: kernel, root task, modules, page tables, boot_info. */
#include <string.h>

#include "cpu.h"
#include "loader.h"
#include "resident.h"

#include <skerry/doorbell.h>
#include <skerry/ledger.h>

#define GIB (1ul << 30)
enum { DEVICE_ALIGN = 16 << 20, IOAPIC_FIRST = 0xfec00000 };

static void copy_segment(const struct elf_image *elf, const struct elf_segment *s, uint64_t to)
{
	require(s->file_size <= s->memory_size && to);
	memcpy((void *)to, elf->file + s->offset, s->file_size);
}

static void load_kernel(struct cluster *c)
{
	const struct boot_range image = c->info->image;

	memset((void *)image.base, 0, image.size);
	for (uint32_t i = 0; i < c->kernel.count; i++) {
		const struct elf_segment *s = &c->kernel.segment[i];
		uint64_t page = s->vaddr & ~(PAGE_SIZE - 1ul);
		uint64_t paddr = image.base + (page - KERNEL_IMAGE_BASE);

		require(s->vaddr >= KERNEL_IMAGE_BASE && s->vaddr - KERNEL_IMAGE_BASE + s->memory_size <= image.size);
		copy_segment(&c->kernel, s, image.base + (s->vaddr - KERNEL_IMAGE_BASE));
		tables_map(&c->tables, page, paddr, round_up(s->vaddr + s->memory_size, PAGE_SIZE) - page,
			   (s->rights & ELF_WRITE ? MAP_WRITE : 0) |
				   (s->rights & ELF_EXECUTE ? MAP_EXECUTE : 0));
	}
}

static void map_stacks(struct cluster *c)
{
	for (uint32_t core = 0; core < c->room; core++) {
		uint64_t window = KERNEL_STACKS_BASE + core * (uint64_t)KERNEL_STACKS_STRIDE, paddr = c->stacks[core];

		require(paddr && paddr % PAGE_SIZE == 0);
		for (uint32_t page = 0; page < KERNEL_STACKS_PAGES; page++) {
			if (!stacks_page_is_mapped(page))
				continue;
			memset((void *)paddr, 0, PAGE_SIZE);
			tables_map(&c->tables, window + (uint64_t)page * PAGE_SIZE, paddr, PAGE_SIZE, MAP_WRITE);
			paddr += PAGE_SIZE;
		}
	}
}

static void load_root(struct cluster *c)
{
	for (uint32_t i = 0; i < c->root.count; i++) {
		const struct boot_segment *to = &c->info->segment[i];

		require(c->root.segment[i].vaddr >= to->vaddr);
		require(c->root.segment[i].vaddr - to->vaddr + c->root.segment[i].memory_size <= to->size);
		memset((void *)to->paddr, 0, to->size);
		copy_segment(&c->root, &c->root.segment[i], to->paddr + (c->root.segment[i].vaddr - to->vaddr));
	}
}

static void load_modules(struct cluster *c, const struct cluster_map *map, const struct machine *m)
{
	const struct boot_info *info = c->info;
	uint64_t filled = 0;

	for (uint32_t i = 0; i < info->module_count; i++) {
		const struct boot_module *module = &info->module[i];

		/* the gap before it: other people's old memory must not show */
		require(module->offset >= filled && module->offset + module->size <= info->modules.size);
		memset((void *)(info->modules.base + filled), 0, module->offset - filled);
		memcpy((void *)(info->modules.base + module->offset),
		       i == 0 ? (const void *)map : machine_module(m, module->name)->data, module->size);
		filled = module->offset + module->size;
	}
	memset((void *)(info->modules.base + filled), 0, info->modules.size - filled);
}

void doorbells_clear(uint64_t address, uint32_t cores)
{
	require(address && address % PAGE_SIZE == 0);
	struct doorbell_area *area = memset((void *)address, 0, doorbell_area_size(cores));

	for (uint32_t i = 0; i < DOORBELL_COUNT; i++)
		atomic_store_explicit(&area->route[i], DOORBELL_UNBOUND, memory_order_relaxed);
}

static void map_doorbells(struct cluster *c)
{
	const uint64_t own = doorbell_area_size(c->room);

	for (uint32_t i = 0; i < c->info->channel_count; i++) {
		const struct boot_channel *channel = &c->info->channel[i];

		if (channel->remote) /* both areas are the device's */
			tables_map(&c->tables, KERNEL_DIRECT_BASE + channel->rx, channel->rx, own, MAP_WRITE);
		else
			doorbells_clear(channel->rx, c->room);
		/* the peer's area is not in our direct map otherwise */
		tables_map(&c->tables, KERNEL_DIRECT_BASE + channel->ring, channel->ring,
			   doorbell_area_size(channel->peer_cpu_count), MAP_WRITE);
	}
}

uint64_t screen_size(const struct boot_info *info)
{
	const struct boot_screen *screen = &info->screen;
	uint64_t skipped = screen->base & (PAGE_SIZE - 1ul);

	return screen->rows == 0 ? 0 : round_up(skipped + (uint64_t)screen->pitch * screen->height, PAGE_SIZE);
}

static void map_screen(struct cluster *c)
{
	uint64_t base = c->info->screen.base & ~(PAGE_SIZE - 1ul);

	if (screen_size(c->info) > 0)
		tables_map(&c->tables, KERNEL_SCREEN_BASE, base, screen_size(c->info), MAP_WRITE | MAP_COMBINE);
}

/* Maps the control words of all clusters: the loader that starts one again writes them (skerry/cluster_control.h). Its
 * own boot processor leaves by the parking page. */
static void map_control(struct cluster *c)
{
	uint64_t size, base = resident_control(&size), park = c->info->park;

	if (c->info->control == 0)
		return;
	require(base % PAGE_SIZE == 0 && park);
	tables_map(&c->tables, KERNEL_DIRECT_BASE + base, base, size, MAP_WRITE);
	base = resident_core_control(&size);
	tables_map(&c->tables, KERNEL_DIRECT_BASE + base, base, size, MAP_WRITE);
	tables_map(&c->tables, KERNEL_DIRECT_BASE + park, park, PAGE_SIZE, MAP_EXECUTE);
}

/* Leaves out the memory of channels: it belongs to both ends, one of which may be another cluster of this machine. */
static void leave_out_channels(struct ranges *device)
{
	for (uint32_t i = 0; i < ivshmem_ranges.count; i++)
		ranges_remove(device, ivshmem_ranges.at[i].base, ivshmem_ranges.at[i].size);
}

static void list_devices(struct boot_info *info, const struct machine *m)
{
	uint64_t low = round_up(m->low_ram_end, DEVICE_ALIGN);
	uint64_t high = 4 * GIB, top = m->address_limit;
	struct ranges device = { 0 };

	for (uint32_t i = 0; i < m->ram.count; i++)
		if (m->ram.at[i].base + m->ram.at[i].size > high)
			high = m->ram.at[i].base + m->ram.at[i].size;
	high = round_up(high, GIB);
	if (low < IOAPIC_FIRST)
		ranges_add(&device, low, IOAPIC_FIRST - low);
	if (high < top)
		ranges_add(&device, high, top - high);
	for (uint32_t i = 0; i < m->ioapic_count; i++)
		ranges_remove(&device, m->ioapic[i].base & ~(PAGE_SIZE - 1ul), PAGE_SIZE);
	ranges_remove(&device, m->lapic_base, PAGE_SIZE);
	if (info->console.kind == BOOT_SERIAL_MEMORY)
		ranges_remove(&device, info->console.base & ~(PAGE_SIZE - 1ul), PAGE_SIZE);
	if (info->screen.rows > 0)
		ranges_remove(&device, info->screen.base & ~(PAGE_SIZE - 1ul), screen_size(info));
	leave_out_channels(&device);
	if (cpuid(1, 0).ecx >> 31 & 1) { /* a hypervisor's; on bare metal the button is the firmware's */
		info->power_status = (uint16_t)m->pm_status;
		info->power_enable = (uint16_t)m->pm_enable;
	}
	ranges_keep_largest(&device, BOOT_MAX_RANGES);

	require(device.count <= BOOT_MAX_RANGES && m->ioapic_count <= BOOT_MAX_IOAPICS);
	info->device_count = device.count;
	memcpy(info->device, device.at, device.count * sizeof *info->device);
	info->ioapic_count = m->ioapic_count;
	memcpy(info->ioapic, m->ioapic, sizeof info->ioapic);
}

static void fill_info(struct cluster *c, const struct cluster_map *map, const struct machine *m)
{
	struct boot_info *info = c->info;

	info->magic = BOOT_INFO_MAGIC;
	info->size = sizeof *info;
	info->cluster = c->map->number;
	info->cluster_count = map->cluster_count;
	info->x2apic = m->x2apic;
	info->tsc_hz = machine_clock.tsc_hz;
	info->lapic_hz = machine_clock.lapic_hz;
	info->rsdp = m->rsdp;
	info->epoch = machine_clock.epoch;
	info->epoch_tsc = machine_clock.epoch_tsc;
	info->own_count = c->map->cpu_count;
	info->cores = resident_cores(c);
	ranges_keep_largest(&c->free, BOOT_MAX_RANGES);
	require(info->cpu_count <= BOOT_MAX_CPUS && c->free.count <= BOOT_MAX_RANGES);
	info->memory_count = c->free.count;
	memcpy(info->memory, c->free.at, c->free.count * sizeof *info->memory);
	strcpy(info->kernel_name, c->map->kernel);
	memcpy(info->isa_gsi, m->isa_gsi, sizeof info->isa_gsi);
	memcpy(info->isa_flags, m->isa_flags, sizeof info->isa_flags);
	if (c->map->devices)
		list_devices(info, m);
	else
		info->results.kind = BOOT_SERIAL_NONE;
}

void cluster_load(struct cluster *c, const struct cluster_map *map, const struct machine *m)
{
	require(c->info->tables.base % PAGE_SIZE == 0 && c->info->tables.size >= PAGE_SIZE);
	tables_init(&c->tables, c->info->tables.base, c->info->tables.size / PAGE_SIZE);
	tables_map(&c->tables, 0, 0, 4 * GIB, MAP_WRITE | MAP_EXECUTE);
	for (uint32_t i = 0; i < c->ram.count; i++)
		tables_map(&c->tables, KERNEL_DIRECT_BASE + c->ram.at[i].base, c->ram.at[i].base, c->ram.at[i].size,
			   MAP_WRITE);
	load_kernel(c);
	map_stacks(c);
	load_root(c);
	load_modules(c, map, m);
	map_doorbells(c);
	memset((void *)c->info->ledger[0].base, 0, sizeof(struct ledger));
	map_screen(c);
	map_control(c);
	moves_map(c, m);
	fill_info(c, map, m);
}
