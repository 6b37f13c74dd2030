/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Placing: decides where in each cluster's memory its kernel, tables, root
 * task and modules go. Everything is taken from the top of the cluster's
 * memory, around what is still in use; nothing is written yet but boot_info,
 * which records the places.
 */
#include <string.h>

#include <skerry/doorbell.h>
#include <skerry/ledger.h>
#include <skerry/port.h>
#include <skerry/root_info.h>
#include <skerry/syscall.h>

#include "console.h"
#include "loader.h"
#include "resident.h"

extern char loader_start[], loader_end[];

/* of the root task's CNode; Redis takes some 2,050, a YCSB client 1,100 */
enum { APPLICATION_SLOTS = 3072 + 4 * 512 /* steps of the heap that are split */, REMOTE_SLOTS = 512 };
/* its frames at each end, the manager's page, wake-ups, bell words */
enum { CABLE_CAPABILITIES = 2 * CABLE_SIZE / PAGE_SIZE + 6 };
/* that an application's slots are enough for; what its program has beyond takes more */
enum { PROGRAM_PAGES = 1 << 11 };
/* bytes that a kernel takes for itself at most, beside that CNode: the root task's other objects, a core's, a
 * channel's */
enum { ROOT_STATE = 256 << 10, CORE_STATE = 32 << 10, CHANNEL_STATE = 32 << 10 };

static uint64_t memory_take(struct cluster *c, uint64_t size, uint64_t align, const char *what)
{
	uint64_t base;

	if (!ranges_find(&c->free, &memory_busy, size, align, &base))
		panic("%s: no room for its %s (%lu KiB in one piece)", c->map->name, what, size / 1024);
	require(base % align == 0 && ranges_common(&c->ram, base, size) == size);
	ranges_remove(&c->free, base, size);
	return base;
}

/* The RAM among the cluster's memory, less what stays the loader's: parked cores run there. */
static void own_ram(struct cluster *c, const struct cluster_map *map, const struct machine *m)
{
	uint64_t lost;

	memset(&c->ram, 0, sizeof c->ram);
	for (uint32_t i = 0; i < c->map->memory_count; i++) {
		uint64_t low = c->map->memory[i].base, high = low + c->map->memory[i].size;

		for (uint32_t j = 0; j < m->ram.count; j++) {
			uint64_t from = m->ram.at[j].base, to = from + m->ram.at[j].size;

			if (from < low)
				from = low;
			if (to > high)
				to = high;
			if (from < to)
				ranges_add(&c->ram, from, to - from);
		}
	}
	ranges_remove(&c->ram, 0, LOW_MEMORY_END);
	ranges_remove(&c->ram, (uint64_t)loader_start, (uint64_t)(loader_end - loader_start));
	resident_keep_modules(&c->ram, map, m);
	lost = c->ram.lost + ranges_total(&c->ram);
	ranges_keep_largest(&c->ram, BOOT_MAX_RANGES);
	lost -= ranges_total(&c->ram);
	if (lost > 0)
		print("%s: its RAM is in more than %u pieces, the smallest of which are left out: %lu KiB",
		      c->map->name, BOOT_MAX_RANGES, lost / 1024);
	c->free = c->ram;
}

static void place_kernel(struct cluster *c, const struct machine *m)
{
	char name[BOOT_NAME_SIZE + 8] = "kernel-";
	const struct machine_module *module;
	struct error_message err;
	uint64_t end = KERNEL_IMAGE_BASE;

	strcpy(name + 7, c->map->kernel);
	module = machine_module(m, name);
	if (!elf_read(&c->kernel, module->data, module->size, name, &err))
		panic("%s", err.text);
	for (uint32_t i = 0; i < c->kernel.count; i++)
		if (end < c->kernel.segment[i].vaddr + c->kernel.segment[i].memory_size)
			end = c->kernel.segment[i].vaddr + c->kernel.segment[i].memory_size;
	c->info->image.size = round_up(end - KERNEL_IMAGE_BASE, PAGE_SIZE);
	c->info->image.base = memory_take(c, c->info->image.size, PAGE_SIZE, "kernel");
	ranges_remove(&c->ram, c->info->image.base, c->info->image.size); /* its code is writable nowhere */
	c->entry = c->kernel.entry;
}

/* The cluster's free memory that is of the node of a core; none where the firmware tells no nodes. */
static void find_near(const struct cluster *c, const struct machine *m, const struct machine_cpu *core,
                      struct ranges *near)
{
	memset(near, 0, sizeof *near);
	for (uint32_t i = 0; core->has_node && i < m->node_range_count; i++) {
		const struct boot_range *of = &m->node_range[i].range;

		for (uint32_t j = 0; m->node_range[i].node == core->node && j < c->free.count; j++) {
			const struct boot_range *free = &c->free.at[j];
			uint64_t from = of->base > free->base ? of->base : free->base;
			uint64_t to = of->base + of->size < free->base + free->size ? of->base + of->size
			                                                            : free->base + free->size;

			if (from < to)
				ranges_add(near, from, to - from);
		}
	}
	ranges_trim(near, PAGE_SIZE);
}

/* Returns whether the kernel is told the cores of a cluster: its own, one of this machine, or a channel's other end. */
static bool is_listed(const struct cluster_map *map, const struct map_cluster *own, const struct map_cluster *of)
{
	bool listed = map_is_here(map, of);

	for (uint32_t i = 0; i < map->channel_count; i++)
		listed |= (map->channel[i].end[0] == own->number && map->channel[i].end[1] == of->number) ||
		          (map->channel[i].end[1] == own->number && map->channel[i].end[0] == of->number);
	return listed;
}

/* Boot information, and behind it the lists of cores. */
static void place_info(struct cluster *c, const struct cluster_map *map)
{
	uint16_t list[BOOT_MAX_CPUS];
	uint32_t listed = 0;

	for (uint32_t i = 0; i < map->cluster_count; i++) {
		const bool is_told = is_listed(map, c->map, &map->cluster[i]);

		c->list[i] = is_told ? listed : (uint32_t)CLUSTER_NOT_LISTED;
		listed += is_told ? map_core_count(map, &map->cluster[i]) : 0;
	}
	c->info_size = round_up(sizeof(struct boot_info) + listed * sizeof(struct boot_core), PAGE_SIZE);
	c->info = (struct boot_info *)memory_take(c, c->info_size, PAGE_SIZE, "boot information");
	memset(c->info, 0, c->info_size);
	for (uint32_t i = 0; i < map->cluster_count; i++) {
		if (c->list[i] == (uint32_t)CLUSTER_NOT_LISTED)
			continue;
		struct boot_core *to = (struct boot_core *)cluster_cores(c, map, &map->cluster[i]);
		uint32_t count = map_core_list(map, &map->cluster[i], list);

		for (uint32_t j = 0; j < count; j++)
			to[j] = (struct boot_core){ .apic = map->cpu[list[j]].apic, .number = list[j] };
	}
	c->room = map_core_count(map, c->map);
	c->cores = (struct boot_core *)cluster_cores(c, map, c->map);
	c->info->core_list = (uint64_t)c->cores;
	c->info->cpu_count = c->room;
}
_Static_assert(sizeof(struct boot_info) % _Alignof(struct boot_core) == 0, "lists are aligned");

/* Stacks of each core that the kernel has room for, in memory of the core's node where there is some left. */
static void place_stacks(struct cluster *c, const struct machine *m)
{
	uint64_t size = 0;
	struct ranges near;
	const struct machine_cpu *before = NULL;

	for (uint32_t page = 0; page < KERNEL_STACKS_PAGES; page++)
		size += stacks_page_is_mapped(page) ? PAGE_SIZE : 0;
	for (uint32_t i = 0; i < c->room; i++) {
		const struct machine_cpu *core = machine_cpu(m, c->cores[i].apic);

		require(core != NULL && i < BOOT_MAX_CPUS);
		if (before == NULL || before->has_node != core->has_node || before->node != core->node)
			find_near(c, m, core, &near);
		before = core;
		if (ranges_find(&near, &memory_busy, size, PAGE_SIZE, &c->stacks[i])) {
			ranges_remove(&near, c->stacks[i], size);
			ranges_remove(&c->free, c->stacks[i], size);
		} else {
			c->stacks[i] = memory_take(c, size, PAGE_SIZE, "stacks");
		}
		ranges_remove(&c->ram, c->stacks[i], size); /* a guard page is none in the direct map */
	}
}

static void place_root(struct cluster *c, const struct machine *m)
{
	const struct machine_module *module = machine_module(m, c->map->root);
	struct error_message err;

	if (!elf_read(&c->root, module->data, module->size, c->map->root, &err))
		panic("%s", err.text);
	for (uint32_t i = 0; i < c->root.count; i++) {
		const struct elf_segment *s = &c->root.segment[i];
		struct boot_segment *to = &c->info->segment[i];

		require(s->memory_size && i < BOOT_MAX_SEGMENTS);
		to->vaddr = s->vaddr & ~(PAGE_SIZE - 1ul);
		to->size = round_up(s->vaddr + s->memory_size, PAGE_SIZE) - to->vaddr;
		to->rights = s->rights; /* ELF_READ is BOOT_READ and so on */
		to->paddr = memory_take(c, to->size, PAGE_SIZE, "root task");
	}
	c->info->segment_count = c->root.count;
	c->info->root_entry = c->root.entry;
}
_Static_assert((int)ELF_READ == (int)BOOT_READ && (int)ELF_WRITE == (int)BOOT_WRITE &&
	       (int)ELF_EXECUTE == (int)BOOT_EXECUTE, "same bits");

/* Places the data for starting the cluster again, which is in no direct map. */
static void place_resident(struct cluster *c, const struct cluster_map *map, const struct machine *m)
{
	if (!resident_wanted(c, map, m))
		return;
	c->resident = memory_take(c, resident_size(c), PAGE_SIZE, "copy for starting it again");
	ranges_remove(&c->ram, c->resident, resident_size(c));
}

/* Programs have these mapped, in large pages that hold nothing else. */
static bool is_mapped(const struct cluster_map *map, const char *name)
{
	for (uint32_t i = 0; i < map->application_count; i++)
		if (strcmp(map->application[i].files, name) == 0)
			return true;
	return false;
}

/* The first is the map, as it was read and checked; the others are files. */
static void place_modules(struct cluster *c, const struct cluster_map *map, const struct machine *m)
{
	struct boot_info *info = c->info;
	uint64_t at = 0;

	for (uint32_t i = 0; i <= c->map->module_count; i++) {
		const char *name = i == 0 ? "map" : c->map->module[i - 1];
		struct boot_module *module = &info->module[i];

		bool mapped = i > 0 && is_mapped(map, name);

		if (mapped)
			at = round_up(at, LARGE_PAGE_SIZE);
		strcpy(module->name, name);
		module->offset = at;
		module->size = i == 0 ? map->size : machine_module(m, name)->size;
		at = round_up(at + module->size, mapped ? LARGE_PAGE_SIZE : PAGE_SIZE);
	}
	info->module_count = c->map->module_count + 1;
	info->modules.size = round_up(at, LARGE_PAGE_SIZE);
	info->modules.base = memory_take(c, info->modules.size, LARGE_PAGE_SIZE, "modules");
}

/* Whole pages of 2 MiB at the start of a channel's memory that are RAM; the firmware may keep its end. */
static struct boot_range channel_ram(const struct map_channel *channel, const struct machine *m)
{
	struct boot_range r = channel->memory;

	while (r.size > 0 && ranges_common(&m->ram, r.base, r.size) != r.size)
		r.size -= LARGE_PAGE_SIZE;
	if (r.size == 0)
		panic("%s: the firmware keeps memory in the first 2 MiB at 0x%lx", channel->name, r.base);
	if (r.base < (uint64_t)loader_end)
		panic("%s: memory at 0x%lx is the loader's; put the channel above 0x%lx", channel->name, r.base,
		    round_up((uint64_t)loader_end, LARGE_PAGE_SIZE) - 1);
	if (r.size < channel->memory.size)
		print("%s: the firmware keeps the end of its memory, %lu of %lu KiB are left", channel->name,
		    r.size / 1024, channel->memory.size / 1024);
	return r;
}

/* One end's record; where the doorbells are is still to be said. */
static struct boot_channel *add_channel(struct cluster *c, const struct cluster_map *map,
                                        const struct map_channel *channel,
					uint32_t side, struct boot_range memory)
{
	struct boot_channel *r = &c->info->channel[c->info->channel_count++];
	const struct map_cluster *peer = map_cluster(map, channel->end[!side]);

	r->id = channel->number;
	r->peer = peer->number;
	r->side = side;
	r->remote = channel->remote;
	r->memory = memory;
	r->peer_cpu_count = map_core_count(map, peer);
	r->peer_cores = cluster_cores(c, map, peer);
	return r;
}

/* The cluster of this machine at this end of a channel; NULL: it is on another machine. */
static struct cluster *find_end(struct cluster *clusters, uint32_t count, const struct map_channel *channel,
                                uint32_t side)
{
	for (uint32_t i = 0; i < count; i++)
		if (clusters[i].map->number == channel->end[side])
			return &clusters[i];
	return NULL;
}

static void place_channel(struct cluster *const end[2], const struct cluster_map *map,
                          const struct map_channel *channel,
			  const struct machine *m)
{
	struct boot_range memory = channel_ram(channel, m);
	struct boot_channel *record[2];

	for (uint32_t side = 0; side < 2; side++) {
		record[side] = add_channel(end[side], map, channel, side, memory);
		/* near the cores that receive them */
		record[side]->rx = memory_take(end[side],
					       doorbell_area_size(end[side]->room), PAGE_SIZE,
					       "doorbells");
	}
	for (uint32_t side = 0; side < 2; side++)
		record[side]->ring = record[!side]->rx;
}

/* The doorbell areas are at the end of the device's memory, side 0's first. */
static void place_remote_channel(struct cluster *end, const struct cluster_map *map, const struct map_channel *channel,
			       uint32_t side)
{
	struct boot_range memory = ivshmem_memory(channel, channel->device[side]);
	const uint64_t areas = memory.base + memory.size, room = MAP_KERNELS_PART / 2;
	struct boot_channel *r = add_channel(end, map, channel, side, memory);

	require(areas % PAGE_SIZE == 0 && side < 2 && doorbell_area_size(BOOT_MAX_CPUS) <= room);
	r->rx = areas + side * room;
	r->ring = areas + !side * room;
}

static void place_channels(struct cluster *clusters, uint32_t count, const struct cluster_map *map,
                           const struct machine *m)
{
	for (uint32_t i = 0; i < map->channel_count; i++) {
		const struct map_channel *channel = &map->channel[i];
		struct cluster *end[2];

		for (uint32_t side = 0; side < 2; side++) {
			end[side] = find_end(clusters, count, channel, side);
			if (channel->remote && end[side] != NULL)
				place_remote_channel(end[side], map, channel, side);
		}
		if (!channel->remote && end[0] != NULL)
			place_channel(end, map, channel, m);
	}
}

enum { BEAT_MAX_MS = 100, BEATS_OF_PATIENCE = 10, TURNS = 64 };

/* Emulated cores take turns, the more the longer, and wait for a processor of the host besides. */
static uint32_t forward_timeout(const struct cluster_map *map)
{
	if (map->patience != 0)
		return map->patience;
	return !is_emulated() ? MAP_PATIENCE
	                      : MAP_PATIENCE_EMULATED * (map->cpu_count > TURNS ? map->cpu_count / TURNS : 1);
}

/* The ledgers of this machine's clusters; each cluster has its own first. */
static void place_ledgers(struct cluster *clusters, uint32_t count, const struct cluster_map *map)
{
	uint32_t patience_ms = forward_timeout(map), beat_ms = patience_ms / BEATS_OF_PATIENCE;
	struct boot_ledger ledger[BOOT_MAX_CLUSTERS];

	for (uint32_t i = 0; i < count; i++)
		ledger[i] = (struct boot_ledger){ .cluster = clusters[i].map->number,
			.base = memory_take(&clusters[i], sizeof(struct ledger), PAGE_SIZE, "ledger") };
	for (uint32_t i = 0; i < count; i++) {
		struct boot_info *info = clusters[i].info;

		info->ledger_count = count;
		info->patience_ms = patience_ms;
		info->beat_ms = beat_ms < BEAT_MAX_MS ? beat_ms : BEAT_MAX_MS;
		for (uint32_t j = 0; j < count; j++)
			info->ledger[j] = ledger[(i + j) % count];
	}
}

/*
 * Returns the size of the kernel's part of the free memory: the CNode in one piece, the rest wherever it fits. A piece
 * for all of it is enough in any case.
 */
static uint64_t state_size(const struct cluster *c, uint32_t cnode_bits)
{
	return (1ull << (cnode_bits + SLOT_BITS)) + ROOT_STATE + (uint64_t)c->room * CORE_STATE +
	       (uint64_t)c->info->channel_count * CHANNEL_STATE;
}

static bool has_piece(const struct ranges *free, uint64_t size)
{
	for (uint32_t i = 0; i < free->count; i++)
		if (free->at[i].size >= size)
			return true;
	return false;
}

/* Slots for the pages of a large program. */
static uint64_t program_slots(const struct map_application *a, const struct machine *m)
{
	const struct machine_module *module = machine_module(m, a->program);
	struct elf_image program;
	struct error_message err;
	uint64_t pages = 0;

	if (!elf_read(&program, module->data, module->size, a->program, &err))
		panic("%s", err.text);
	for (uint32_t i = 0; i < program.count; i++)
		pages += program.segment[i].memory_size / PAGE_SIZE + 2;
	return pages > PROGRAM_PAGES ? pages - PROGRAM_PAGES : 0;
}

/* Slots for the pages of a program's files: copies of the manager's. */
static uint64_t file_slots(const struct map_application *a, const struct machine *m)
{
	return a->files[0] == '\0' ? 0 : round_up(machine_module(m, a->files)->size, LARGE_PAGE_SIZE) / LARGE_PAGE_SIZE;
}

static uint64_t process_slots(const struct map_application *a, const struct machine *m)
{
	return APPLICATION_SLOTS + 2 * (a->heap / LARGE_PAGE_SIZE) + program_slots(a, m) + file_slots(a, m);
}

/*
 * The root task keeps the capability of every frame that it maps: those of a
 * program, its stack, heap and network port in the program's cluster, those of
 * the port at the switch in another.
 */
static void size_root_cnode(struct cluster *c, const struct cluster_map *map, const struct machine *m)
{
	uint64_t slots = c->info->modules.size / LARGE_PAGE_SIZE, memory = ranges_total(&c->free);
	uint32_t bits = ROOT_CNODE_BITS;

	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		if (a->cluster == c->map->number)
			slots += process_slots(a, m) + map_named_count(&a->cables) * CABLE_CAPABILITIES +
			         /* a child maps frames of others until it writes there */
			         (a->processes - 1) * (process_slots(a, m) + a->heap / LARGE_PAGE_SIZE);
		else
			slots += REMOTE_SLOTS;
	}
	if (!has_piece(&c->free, state_size(c, bits)))
		panic("%s: no room for its kernel's own state (%lu KiB in one piece)", c->map->name,
		      state_size(c, bits) / 1024);
	while (bits < ROOT_CNODE_BITS_MAX && 1ull << bits < slots && 2ull << (bits + SLOT_BITS) <= memory / 32 &&
	       has_piece(&c->free, state_size(c, bits + 1)))
		bits++;
	require(bits <= ROOT_CNODE_BITS_MAX);
	c->info->root_cnode_bits = bits;
}

uint32_t clusters_place(struct cluster *clusters, const struct cluster_map *map, const struct machine *m)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (map_is_here(map, &map->cluster[i]))
			clusters[count++].map = &map->cluster[i];
	for (uint32_t i = 0; i < count; i++) {
		struct cluster *c = &clusters[i];

		own_ram(c, map, m);
		place_info(c, map);
		place_modules(c, map, m);
		place_kernel(c, m);
		place_stacks(c, m);
		place_root(c, m);
		place_resident(c, map, m);
	}
	place_channels(clusters, count, map, m);
	place_ledgers(clusters, count, map);
	moves_place(clusters, count, m);
	for (uint32_t i = 0; i < count; i++) {
		struct cluster *c = &clusters[i];
		uint64_t pages;

		console_share(c->info, i, count);
		/* 4: control */
		pages = tables_bound(&c->ram, c->info->image.size, c->room, c->info->channel_count + 4,
		                     screen_size(c->info));
		pages += moves_tables_bound(c, m);
		c->info->tables.base = memory_take(c, pages * PAGE_SIZE, PAGE_SIZE, "page tables");
		c->info->tables.size = pages * PAGE_SIZE;
		size_root_cnode(c, map, m);
	}
	return count;
}
