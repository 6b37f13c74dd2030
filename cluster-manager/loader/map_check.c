/* SPDX-License-Identifier: BSD-2-Clause */
/* The cores, kernel images, programs and other modules that the map names: this machine has them. */
#include <string.h>

#include <skerry/executable.h>
#include <skerry/file_tree.h>
#include "map.h"

#include <skerry/root_info.h>

static bool check_cpu(const struct cluster_map *map, const struct map_cpu *cpu, const struct machine *machine,
		      struct error_message *err)
{
	const struct machine_cpu *real = machine_cpu(machine, cpu->apic);

	if (cpu->machine != map->machine)
		return true;
	if (real == NULL)
		return error_set(err, "map: %s: this machine has no core with local APIC id %u", cpu->name, cpu->apic);
	if (!real->enabled)
		return error_set(err, "map: %s: the firmware has disabled the core with local APIC id %u", cpu->name,
			      cpu->apic);
	if (cpu->apic > 254 && !machine->x2apic)
		return error_set(err, "map: %s: local APIC id %u needs x2APIC, which this machine lacks", cpu->name,
			      cpu->apic);
	return true;
}

static bool read_module(const struct machine *machine, const char *name, const char *wanted_by,
			struct elf_image *elf, struct error_message *err)
{
	const struct machine_module *module = machine_module(machine, name);

	if (module == NULL)
		return error_set(err, "map: %s: there is no module %s", wanted_by, name);
	return elf == NULL || elf_read(elf, module->data, module->size, name, err);
}

/* The kernel takes the boot_info of this loader: one of another build could say so only where it has no console yet. */
static bool check_contract(const struct elf_image *elf, const char *name, struct error_message *err)
{
	struct boot_contract words = { 0 };

	for (uint32_t i = 0; i < elf->count; i++) {
		const struct elf_segment *s = &elf->segment[i];
		uint64_t offset = elf->entry - s->vaddr;

		if (elf->entry >= s->vaddr && offset >= sizeof words && offset <= s->file_size)
			memcpy(&words, elf->file + s->offset + offset - sizeof words, sizeof words);
	}
	return (words.magic == BOOT_INFO_MAGIC && words.size == sizeof(struct boot_info)) ||
	       error_set(err, "module %s is of another version than this loader: take both from one build", name);
}

static bool check_images_of(const struct map_cluster *cluster, const struct machine *machine, struct error_message *err)
{
	char kernel[BOOT_NAME_SIZE + 8] = "kernel-";
	struct elf_image elf;

	strcpy(kernel + 7, cluster->kernel);
	if (!read_module(machine, kernel, cluster->name, &elf, err) ||
	    !elf_check_mappable(&elf, KERNEL_IMAGE_BASE, UINT64_MAX, ELF_MAX_SEGMENTS, kernel, err) ||
	    !check_contract(&elf, kernel, err) ||
	    !read_module(machine, cluster->root, cluster->name, &elf, err) ||
	    !elf_check_mappable(&elf, 4096, ROOT_RESERVED_BASE, BOOT_MAX_SEGMENTS, cluster->root, err))
		return false;
	for (uint32_t i = 0; i < cluster->module_count; i++)
		if (!read_module(machine, cluster->module[i], cluster->name, NULL, err))
			return false;
	return true;
}

/* Its module is there: it is among those of its cluster. */
static bool check_program(const char *name, const struct machine *machine, struct error_message *err)
{
	const struct machine_module *module = machine_module(machine, name);
	struct elf_image elf;

	return elf_read(&elf, module->data, module->size, name, err) &&
	       elf_check_mappable(&elf, 4096, PROCESS_HEAP_VADDR, ELF_MAX_SEGMENTS, name, err);
}

/* Checks the module with files likewise. Its content concerns only the program. */
static bool check_files(const char *name, const struct machine *machine, struct error_message *err)
{
	const struct machine_module *module = machine_module(machine, name);
	struct file_tree head;
	bool valid = module->size >= sizeof head;

	if (valid) {
		memcpy(&head, module->data, sizeof head); /* an archive aligns nothing to 8 bytes */
		valid = head.magic == FILE_TREE_MAGIC && head.version == FILE_TREE_VERSION &&
		        head.size == module->size &&
			head.size <= FILE_TREE_BYTES;
	}
	return valid || error_set(err, "module %s is not a tree of files of version %u", name, FILE_TREE_VERSION);
}

static bool check_machine(const struct cluster_map *map, struct error_message *err)
{
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (map_is_here(map, &map->cluster[i]))
			return true;
	return error_set(err, "map: there is no machine %u", map->machine);
}

bool map_check_clusters(const struct cluster_map *map, const struct machine *machine, struct error_message *err)
{
	for (uint32_t i = 0; i < machine->module_count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(machine->module[i].name, machine->module[j].name) == 0)
				return error_set(err, "module %s was loaded twice", machine->module[i].name);
	for (uint32_t i = 0; i < map->cpu_count; i++)
		if (!check_cpu(map, &map->cpu[i], machine, err))
			return false;
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (map_is_here(map, &map->cluster[i]) && !check_images_of(&map->cluster[i], machine, err))
			return false;
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		if (map_is_here(map, map_cluster(map, a->cluster)) &&
		    (!check_program(a->program, machine, err) ||
		     (a->files[0] != '\0' && !check_files(a->files, machine, err))))
			return false;
	}
	return true;
}

bool map_check(const struct cluster_map *map, const struct machine *machine, struct error_message *err)
{
	return check_machine(map, err) && map_check_clusters(map, machine, err) && map_check_nodes(map, machine, err) &&
	       map_check_memory(map, machine, err);
}
