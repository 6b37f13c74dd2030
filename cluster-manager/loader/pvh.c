/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Start by `qemu-system-x86_64 -kernel` (Xen's PVH, hvm_start_info). QEMU hands
 * over one module, its -initrd; it is a cpio archive (newc, not compressed)
 * whose files are the modules, named as GRUB would name them.
 */
#include <string.h>

#include "acpi.h"
#include "loader.h"

#define PVH_MAGIC 0x336ec578u

struct pvh_info {
	uint32_t magic, version, flags, module_count;
	uint64_t modules, command_line, rsdp, memory;
	uint32_t memory_count, reserved;
};
struct pvh_module {
	uint64_t base, size, command_line, reserved;
};
struct pvh_memory {
	uint64_t base, size;
	uint32_t type, reserved;
};

struct cpio_header { /* all fields hexadecimal digits */
	char magic[6], inode[8], mode[8], uid[8], gid[8], links[8], time[8], size[8];
	char device[16], special[16], name_size[8], check[8];
};
_Static_assert(sizeof(struct cpio_header) == 110, "newc");

/*@ assigns \nothing;
  @ ensures digit: '0' <= c <= '9' ==> \result == c - '0';
  @ ensures letter: ('a' <= c <= 'f' ==> \result == c - 'a' + 10) && ('A' <= c <= 'F' ==> \result == c - 'A' + 10);
  @ ensures none: !('0' <= c <= '9' || 'a' <= c <= 'f' || 'A' <= c <= 'F') ==> \result == 16; */
static uint32_t hex_digit(char c)
{
	return c >= '0' && c <= '9' ? (uint32_t)(c - '0') : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
	       : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10) : 16;
}

/* The field of eight digits at `digits` of the header at byte `at`. */
static uint64_t parse_hex(const char digits[8], uint64_t at, const char *field)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++) {
		if (hex_digit(digits[i]) == 16)
			panic("the initrd's header at byte %lu: its %s is no hexadecimal number", at, field);
		value = value << 4 | hex_digit(digits[i]);
	}
	return value;
}

/* The file whose header is at byte `at`; where the next one is. 0: the archive is over. */
static uint64_t read_file(struct machine *m, const char *archive, uint64_t size, uint64_t at)
{
	const struct cpio_header *h = (const void *)(archive + at);
	const char *name = archive + at + sizeof *h;
	uint64_t left = size - at - sizeof *h, name_size, file_size, data;

	require(at <= size && size - at >= sizeof *h);
	if (memcmp(h->magic, "070701", 6) != 0)
		panic("the initrd is no cpio archive of format newc at byte %lu", at);
	name_size = parse_hex(h->name_size, at, "name size");
	file_size = parse_hex(h->size, at, "file size");
	if (name_size == 0 || name_size > left)
		panic("the initrd's header at byte %lu: a name of %lu bytes, %lu are left", at, name_size, left);
	if (name[name_size - 1] != '\0')
		panic("the initrd's header at byte %lu: its name does not end", at);
	if (strcmp(name, "TRAILER!!!") == 0)
		return 0;
	data = round_up(at + sizeof *h + name_size, 4);
	if (!span_fits(data, file_size, size))
		panic("the initrd is cut short: %s at byte %lu has %lu bytes", name, at, file_size);
	if (strncmp(name, "./", 2) == 0) {
		name += 2;
		name_size -= 2;
	}
	if ((parse_hex(h->mode, at, "mode") & 0170000) == 0100000) { /* regular file */
		if (name[0] == '\0' || name[0] == ' ') /* module_add() takes a name as GRUB would, to the first space */
			panic("the initrd has a file without a name at byte %lu", at);
		module_add(m, name, name_size, archive + data, file_size);
	}
	return round_up(data + file_size, 4);
}

void archive_read(struct machine *m, const char *archive, uint64_t size)
{
	uint64_t at = 0;

	do {
		if (at > size || size - at < sizeof(struct cpio_header))
			panic("the initrd is cut short: no file and no trailer begins at byte %lu of %lu", at, size);
		at = read_file(m, archive, size, at);
	} while (at != 0);
}

static const void *reach_memory(uint64_t address, uint64_t size, const char *what)
{
	const void *memory = acpi_memory(address, size);

	if (memory == NULL)
		panic("PVH start information: the %s at 0x%lx with %lu bytes is out of reach", what, address, size);
	return memory;
}

static void read_modules(struct machine *m, const struct pvh_info *info)
{
	const struct pvh_module *module =
		reach_memory(info->modules, (uint64_t)info->module_count * sizeof *module, "list of modules");

	for (uint32_t i = 0; i < info->module_count; i++) {
		uint64_t base = module[i].base & ~(PAGE_SIZE - 1ul);
		const char *archive = reach_memory(module[i].base, module[i].size, "initrd");

		ranges_add(&memory_busy, base, round_up(module[i].base + module[i].size, PAGE_SIZE) - base);
		archive_read(m, archive, module[i].size);
	}
}

void pvh_read(struct machine *m, const void *start)
{
	const struct pvh_info *info = start;
	const struct pvh_memory *memory;

	if (info->magic != PVH_MAGIC)
		panic("started by neither multiboot2 nor PVH");
	if (info->version < 1)
		panic("PVH start information of version 0 has no memory map");
	memory = reach_memory(info->memory, (uint64_t)info->memory_count * sizeof *memory, "memory map");
	m->rsdp = info->rsdp;
	m->command_line = info->command_line == 0 ? NULL : reach_memory(info->command_line, 1, "command line");
	for (uint32_t i = 0; i < info->memory_count; i++) {
		uint32_t type = memory[i].type; /* as in E820 */
		memory_note(m, memory[i].base, memory[i].size, type == 1, type == 1 || type == 3 || type == 4);
	}
	read_modules(m, info);
}
