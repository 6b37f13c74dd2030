/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cluster maps, as the loader and the host's tool read them. The first byte: bit 0 the machine's number, bit 1 whether
 * it has an SRAT; the rest is the devicetree. What is accepted gives nothing away
 * twice and nothing that is not there, and all its numbers and lists lie inside it.
 */
#include <elf.h>
#include <string.h>

#include <skerry/process.h>

#include "fuzz.h"
#include "form.h"
#include "map.h"
#include "read.h"

enum { FILE_SIZE = 4096, ENTRY = 1024, HAS_SRAT = 2 };
#define GIB (1ul << 30)

static struct machine machine;
static _Alignas(8) uint8_t kernel_file[FILE_SIZE], program_file[FILE_SIZE];

static void make_elf(uint8_t *file, uint64_t vaddr)
{
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			      .e_entry = vaddr + ENTRY, .e_phoff = sizeof header, .e_ehsize = sizeof header,
			      .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1 };
	const struct boot_contract contract = { BOOT_INFO_MAGIC, sizeof(struct boot_info) }; /* as kernels have it */
	Elf64_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = vaddr,
			       .p_filesz = FILE_SIZE, .p_memsz = FILE_SIZE, .p_align = FILE_SIZE };

	memcpy(file, &header, sizeof header);
	memcpy(file + sizeof header, &segment, sizeof segment);
	memcpy(file + ENTRY - sizeof contract, &contract, sizeof contract);
}

static void add_module(const char *name, const void *data)
{
	struct machine_module *m = &machine.module[machine.module_count++];

	snprintf(m->name, sizeof m->name, "%s", name);
	m->data = data;
	m->size = FILE_SIZE;
}

/* QEMU's q35 with two nodes of two cores and 1 GiB. */
static void make_machine(void)
{
	static const char *const program[] = { "root", "redis-server", "ycsb", "switch", "virtio-net", "stack" };

	ranges_add(&machine.ram, 0, 0x9f000);
	ranges_add(&machine.ram, 0x100000, 0x7ffdf000 - 0x100000);
	ranges_add(&machine.known, 0, 0xa0000);
	ranges_add(&machine.known, 0xf0000, 0x80000000 - 0xf0000);
	ranges_add(&machine.known, 0xb0000000, 0x10000000);
	for (uint32_t i = 0; i < 4; i++)
		machine.cpu[machine.cpu_count++] =
			(struct machine_cpu){ .apic = i, .node = i / 2, .enabled = true, .has_node = true };
	for (uint32_t i = 0; i < 2; i++)
		machine.node_range[machine.node_range_count++] = (struct machine_node_range){ { i * GIB, GIB }, i };
	machine.x2apic = true;
	make_elf(kernel_file, KERNEL_IMAGE_BASE);
	make_elf(program_file, 0x400000);
	add_module("kernel-clh+stat", kernel_file);
	add_module("kernel-none", kernel_file);
	for (uint32_t i = 0; i < sizeof program / sizeof *program; i++)
		add_module(program[i], program_file);
}

/* All that a map gives away of one machine's memory; no two may meet. */
struct given {
	uint32_t count;
	struct boot_range range[BOOT_MAX_CLUSTERS * BOOT_MAX_RANGES + MAP_MAX_CHANNELS];
};

static void give(struct given *given, const struct boot_range *r, bool here)
{
	MUST(r->size > 0 && r->base % 4096 == 0 && r->size % 4096 == 0 && r->size <= UINT64_MAX - r->base);
	MUST(!here || ranges_common(&machine.ram, r->base, r->size) >= r->size / 2);
	for (uint32_t i = 0; i < given->count; i++)
		MUST(r->base >= given->range[i].base + given->range[i].size ||
		     given->range[i].base >= r->base + r->size);
	given->range[given->count++] = *r;
}

static void check_memory(const struct cluster_map *map, uint32_t number)
{
	static struct given given;

	given.count = 0;
	for (uint32_t i = 0; i < map->cluster_count; i++)
		for (uint32_t j = 0; map->cluster[i].machine == number && j < map->cluster[i].memory_count; j++)
			give(&given, &map->cluster[i].memory[j], number == map->machine);
	for (uint32_t i = 0; i < map->channel_count; i++) {
		const struct map_channel *c = &map->channel[i];

		if (!c->remote && map_cluster(map, c->end[0])->machine == number)
			give(&given, &c->memory, number == map->machine);
	}
}

static void check_cores(const struct cluster_map *map)
{
	static bool taken[MAP_MAX_CPUS];

	memset(taken, 0, sizeof taken);
	for (uint32_t i = 0; i < map->cluster_count; i++) {
		const struct map_cluster *c = &map->cluster[i];

		MUST(c->cpu_count > 0 && c->cpu_count <= BOOT_MAX_CPUS && c->number < map->cluster_count);
		for (uint32_t j = 0; j < c->cpu_count; j++) {
			MUST(c->cpu[j] < map->cpu_count && !taken[c->cpu[j]]);
			MUST(map->cpu[c->cpu[j]].machine == c->machine);
			MUST(c->machine != map->machine || machine_cpu(&machine, map->cpu[c->cpu[j]].apic) != NULL);
			taken[c->cpu[j]] = true;
		}
	}
}

/* Checks that the list is aligned and in the pool, behind those before it. Returns where the next begins. */
static uint32_t check_list(const struct cluster_map *map, const struct map_list *list, uint32_t from)
{
	uint32_t pool = map->size - (uint32_t)offsetof(struct cluster_map, pool);

	MUST(list->offset % 4 == 0 && list->offset >= from && list->offset <= pool &&
	     list->size <= pool - list->offset);
	return list->offset + list->size;
}

/* Everything a manager takes as an index or a string is one. */
static void check_application(const struct cluster_map *map, uint32_t index)
{
	const struct map_application *a = &map->application[index];
	const struct map_cluster *cluster = map_cluster(map, a->cluster);
	int32_t count = (int32_t)map->application_count;

	MUST(strlen(a->name) < sizeof a->name && strlen(a->program) < sizeof a->program && a->name[0] > ' ');
	MUST(cluster != NULL && a->core < cluster->cpu_count && cluster->cpu[a->core] == a->cpu &&
	     a->heap % (2 << 20) == 0);
	for (uint32_t i = 0; i < map_named_count(&a->cables); i++) {
		uint32_t to = map_named(map, &a->cables, i);

		MUST((int32_t)to < count && to != index && a->ipv4 && map->application[to].ipv4);
		MUST(map->application[to].cluster == a->cluster);
	}
	MUST(map_await_count(a) <= MAP_MAX_AWAITED &&
	     (a->args.size == 0 || map->pool[a->args.offset + a->args.size - 1] == '\0'));
	for (uint32_t i = 0; i < map_await_count(a); i++)
		MUST((int32_t)map_awaited(map, a, i) < count && map_awaited(map, a, i) != index);
	MUST(a->stack < count && a->stack_of < count && a->port_of < count && a->port_of != (int32_t)index);
	MUST(a->stack == MAP_NONE || map->application[a->stack].stack_of == (int32_t)index);
	MUST(a->stack_of == MAP_NONE || map->application[a->stack_of].stack == (int32_t)index);
	MUST(map_named_count(&a->volumes) <= PROCESS_MAX_VOLUMES);
	for (uint32_t i = 0; i < map_named_count(&a->volumes); i++) {
		const uint32_t server = map_named(map, &a->volumes, i);

		MUST((int32_t)server < count && map->application[server].volume_of == (int32_t)index);
	}
	MUST((a->role == MAP_VOLUME) == (a->volume_of != MAP_NONE) && (a->role == MAP_VOLUME) == (a->mount.size != 0));
	MUST(a->port_of == MAP_NONE || map->application[a->port_of].role == MAP_SWITCH);
}

static void check_others(const struct cluster_map *map)
{
	uint32_t ends[BOOT_MAX_CLUSTERS] = { 0 }, from = 0;

	MUST(map_is_valid(map, map->size) && map_cluster(map, map->primary) != NULL);
	MUST(map_cluster(map, map->primary)->devices && map_cluster(map, map->primary)->machine == 0);
	for (uint32_t i = 0; i < map->channel_count; i++)
		for (uint32_t side = 0; side < 2; side++)
			MUST(++ends[map->channel[i].end[side]] <= BOOT_MAX_CHANNELS);
	for (uint32_t i = 0; i < map->application_count; i++) {
		from = check_list(map, &map->application[i].pci_id, from);
		from = check_list(map, &map->application[i].args, from);
		check_application(map, i);
	}
	for (uint32_t i = 0; i < map->application_count; i++) {
		from = check_list(map, &map->application[i].await, from);
		from = check_list(map, &map->application[i].cables, from);
	}
}

static void check_error(const struct error_message *err)
{
	size_t length = strlen(err->text);

	MUST(length > 8 && length < sizeof err->text - 1);
	for (size_t i = 0; i < length; i++)
		MUST(err->text[i] >= ' ' && err->text[i] <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cluster_map map;
	struct error_message err = { .text = "" };
	void *tree;

	if (machine.cpu_count == 0)
		make_machine();
	if (size == 0)
		return 0;
	tree = fuzz_copy(data + 1, size - 1);
	machine.has_srat = data[0] & HAS_SRAT;
	if (cluster_map_read(&map, tree, size - 1, &err)) {
		check_others(&map);
		check_form(&map, tree, &err); /* of the host's tool: reads what the loader does not */
		map.machine = data[0] & 1;
		if (map_check(&map, &machine, &err) && map_check_labels(&map, tree, &machine, &err)) {
			check_cores(&map);
			for (uint32_t i = 0; i < map.cluster_count; i++)
				check_memory(&map, i);
		}
	}
	if (err.text[0] != '\0')
		check_error(&err);
	free(tree);
	return 0;
}
