/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the loader that stays: it loads a lost cluster again, on that
 * cluster's own first core (skerry/cluster_control.h), and has the cores that
 * are on the way from one cluster to another (skerry/core_control.h).
 *
 * Each core of such a cluster has a stack here, and the cluster a copy of its
 * boot information as placing left it: in its memory, but in no kernel's direct
 * map, as the modules that are loaded from. Nobody is told of anything: the
 * console is the kernels', and a core with nothing to do waits.
 */
#include <stddef.h>
#include <string.h>

#include <skerry/core_control.h>

#include "cpu.h"
#include "exceptions.h"
#include "loader.h"
#include "pci.h"
#include "resident.h"

enum { STACK_SIZE = 16 << 10, DIRECT_ENTRY = KERNEL_DIRECT_BASE >> 39 & 511 };
extern uint64_t boot_pml4[512];
_Static_assert(sizeof(struct resident_core) == RESIDENT_CORE_SIZE &&
               offsetof(struct resident_core, apic) == RESIDENT_APIC &&
	       offsetof(struct resident_core, stack_top) == RESIDENT_STACK_TOP, "as trampoline.S sees it");

struct resident_core resident_core[MAP_MAX_CPUS];
uint32_t resident_core_count;

static _Alignas(PAGE_SIZE) struct cluster_control control[BOOT_MAX_CLUSTERS];
static _Alignas(PAGE_SIZE) struct core_control core_words[MAP_MAX_CPUS]; /* by place in the map */
static struct cluster *clusters;
static uint32_t cluster_count;
static const struct cluster_map *map;
static const struct machine *machine;

uint64_t resident_control(uint64_t *size)
{
	*size = round_up(sizeof control, PAGE_SIZE);
	return (uint64_t)control;
}

uint64_t resident_core_control(uint64_t *size)
{
	*size = round_up(sizeof core_words, PAGE_SIZE);
	return (uint64_t)core_words;
}

struct boot_cores resident_cores(const struct cluster *c)
{
	struct boot_cores cores = { 0 };

	for (uint32_t i = 0; i < (c->resident == 0 ? c->map->cpu_count : c->room); i++)
		if (c->resident == 0 || core_is_of(core_read(&core_words[c->cores[i].number]), c->map->number))
			boot_cores_add(&cores, i);
	return cores;
}

uint64_t resident_size(const struct cluster *c)
{
	return c->info_size + (uint64_t)c->map->cpu_count * STACK_SIZE;
}

static bool is_of(const struct map_cluster *c, const struct machine_module *module)
{
	if (strncmp(module->name, "kernel-", 7) == 0 && strcmp(module->name + 7, c->kernel) == 0)
		return true;
	for (uint32_t i = 0; i < c->module_count; i++)
		if (strcmp(module->name, c->module[i]) == 0)
			return true;
	return strcmp(module->name, c->root) == 0;
}

/* Returns whether another cluster of this machine may lose it and start it again; a machine is started again by its
 * host. */
static bool is_restarted(const struct map_cluster *c, const struct cluster_map *of)
{
	uint32_t others = 0;

	for (uint32_t i = 0; i < of->cluster_count; i++)
		others += of->cluster[i].number != c->number && map_is_here(of, &of->cluster[i]);
	return c->restart && others > 0 && map_is_here(of, c);
}

/* The whole pages that hold a module; none where no cluster that is started again has it. */
static struct boot_range kept_pages(const struct cluster_map *of, const struct machine_module *module)
{
	uint64_t base = (uint64_t)module->data & ~(PAGE_SIZE - 1ul);

	for (uint32_t i = 0; i < of->cluster_count; i++)
		if (is_restarted(&of->cluster[i], of) && is_of(&of->cluster[i], module))
			return (struct boot_range){ base,
			                            round_up((uint64_t)module->data + module->size, PAGE_SIZE) - base };
	return (struct boot_range){ 0 };
}

void resident_keep_modules(struct ranges *ram, const struct cluster_map *of, const struct machine *m)
{
	for (uint32_t i = 0; i < m->module_count; i++) {
		struct boot_range range = kept_pages(of, &m->module[i]);

		ranges_remove(ram, range.base, range.size);
	}
}

/* A channel's memory is cleared and written, whatever GRUB has put there. */
static bool is_in_channel(const struct machine_module *module)
{
	for (uint32_t i = 0; i < map->channel_count; i++) {
		const struct map_channel *channel = &map->channel[i];
		uint64_t base = (uint64_t)module->data;

		if (!channel->remote && base < channel->memory.base + channel->memory.size &&
		    channel->memory.base < base + module->size)
			return true;
	}
	return false;
}

/* It begins in the firmware after INIT, so it is fenced in another way. This core is it. */
static uint32_t boot_core(const struct cluster *c)
{
	for (uint32_t i = 0; i < c->room; i++)
		if (c->cores[i].apic == apic_id())
			return i;
	return BOOT_NO_CORE;
}

bool resident_wanted(const struct cluster *c, const struct cluster_map *of, const struct machine *m)
{
	map = of;
	if (!is_restarted(c->map, of))
		return false;
	for (uint32_t i = 0; i < m->module_count; i++)
		if (is_of(c->map, &m->module[i]) && is_in_channel(&m->module[i])) {
			print("%s: is not started again when it is lost: its module %s lies in a channel", c->map->name,
			      m->module[i].name);
			return false;
		}
	return true;
}

static void add_controlled(const struct cluster *by, const struct cluster *c)
{
	struct boot_info *info = by->info;

	require(info->controlled_count < BOOT_MAX_CLUSTERS);
	struct boot_controlled *to = &info->controlled[info->controlled_count++];

	to->cluster = c->map->number;
	to->cpu_count = c->room;
	to->boot_core = boot_core(c);
	to->cores = cluster_cores(by, map, c->map);
}

static void add_cores(struct cluster *c)
{
	uint64_t stack = c->resident + c->info_size;

	for (uint32_t i = 0; i < c->map->cpu_count; i++) {
		uint32_t cpu = c->map->cpu[i], number = c->map->number;

		require(resident_core_count < MAP_MAX_CPUS && c->resident % PAGE_SIZE == 0);
		resident_core[resident_core_count++] =
			(struct resident_core){ .apic = map->cpu[cpu].apic, .cpu = cpu,
			                        .stack_top = stack + (i + 1ul) * STACK_SIZE };
		atomic_store_explicit(&core_words[cpu].word, core_word(0, number, number, CORE_OWNED),
		                      memory_order_relaxed);
	}
	atomic_store_explicit(&control[c->map->number].word, control_word(1, 0, CONTROL_RUNNING), memory_order_relaxed);
}

void resident_place(struct cluster *placed, uint32_t count, const struct machine *m, uint32_t start_vector)
{
	bool any = false;

	machine = m;
	clusters = placed;
	cluster_count = count;
	for (uint32_t i = 0; i < count; i++)
		any |= clusters[i].resident != 0;
	boot_pml4[DIRECT_ENTRY] = boot_pml4[0]; /* the first 4 GiB, as the kernels have them, for resident_park */
	for (uint32_t i = 0; i < count; i++) {
		struct boot_info *info = clusters[i].info;

		info->life = 1;
		info->control = any ? (uint64_t)control : 0;
		info->park = any ? (uint64_t)resident_park : 0;
		info->start_vector = start_vector;
		info->core_control = any ? (uint64_t)core_words : 0;
		info->boot_core = boot_core(&clusters[i]);
		for (uint32_t j = 0; j < count; j++)
			if (j != i && clusters[j].resident != 0)
				add_controlled(&clusters[i], &clusters[j]);
		if (clusters[i].resident != 0)
			add_cores(&clusters[i]);
	}
	moves_begin(clusters, count);
	for (uint32_t i = 0; i < count; i++)
		if (clusters[i].resident != 0)
			memcpy((void *)clusters[i].resident, clusters[i].info, clusters[i].info_size);
}

/* Nothing of its memory is written before its devices have stopped to do so. */
static void load_again(struct cluster *c, uint32_t life)
{
	if (c->map->devices) {
		pci_quiet();
		io_apics_mask(machine);
	}
	require(c->resident);
	memcpy(c->info, (const void *)c->resident, c->info_size);
	c->info->life = life;
	moves_again(c);
	cluster_load(c, map, machine);
}

static _Noreturn void enter_cluster(const struct cluster *c, uint32_t index)
{
	if (apic_is_boot_processor())
		apic_drain();
	require(index < BOOT_MAX_CPUS && c->entry);
	enter_kernel(c->tables.base, c->entry, KERNEL_DIRECT_BASE + (uint64_t)c->info, index);
}

/* Its cores start with its next life, none later. Its kernel does not run now, so none leaves it meanwhile. */
static bool load_next(struct cluster *c, struct cluster_control *own, uint64_t word)
{
	require(control_state(word) == CONTROL_LOADING);
	load_again(c, control_life(word) + 1);
	for (uint32_t cpu = 0; cpu < map->cpu_count; cpu++)
		core_loaded(&core_words[cpu], c->map->number);
	return control_loaded(own, word);
}

/* A core of a lost cluster waits for the cluster's next life; core 0 loads it. */
static _Noreturn void wait_for_life(struct cluster *c, uint32_t index)
{
	struct cluster_control *own = &control[c->map->number];
	uint32_t life = control_arrive(own, index);

	for (;;) {
		uint64_t word = control_read(own);

		if (control_may_enter(word, life))
			enter_cluster(c, index);
		if (control_state(word) == CONTROL_DOWN)
			cpu_stop(); /* INIT ends this, too */
		if (index == 0 && control_state(word) == CONTROL_LOADING && load_next(c, own, word))
			enter_cluster(c, index);
		cpu_pause();
	}
}

static struct cluster *find_cluster(uint32_t number)
{
	for (uint32_t i = 0; i < cluster_count; i++)
		if (clusters[i].map->number == number)
			return &clusters[i];
	return NULL;
}

static _Noreturn void join_cluster(const struct cluster *c, uint32_t index)
{
	__typeof__(&resident_join) mapped = (__typeof__(&resident_join))(KERNEL_DIRECT_BASE + (uint64_t)resident_join);

	mapped(c->tables.base, c->entry, KERNEL_DIRECT_BASE + (uint64_t)c->info, index);
	__builtin_unreachable();
}

/* A core that was reset, or that has left its kernel. Its word says which. */
_Noreturn void resident_main(const struct resident_core *core)
{
	struct core_control *own = &core_words[core->cpu];

	exceptions_load();
	for (;;) {
		uint64_t word = core_read(own);
		struct cluster *c = find_cluster(core_owner(word));
		int32_t index = c == NULL ? MAP_NONE : map_core_index(map, c->map, core->cpu);

		if (core_state(word) == CORE_LEAVING) {
			apic_drain();
			core_parked(own, word);
		} else if (core_state(word) == CORE_JOINING && index != MAP_NONE) {
			if (core_may_join(word, &control[c->map->number]))
				join_cluster(c, (uint32_t)index);
		} else if (core_is_of(word, core_owner(word)) && index != MAP_NONE) {
			wait_for_life(c, (uint32_t)index);
		}
		cpu_pause();
	}
}
