/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Start by `qemu-system-x86_64 -kernel` (Xen's PVH, hvm_start_info). QEMU hands
 * over one module, its -initrd; it is a cpio archive (newc, not compressed)
 * whose files are the modules, named as GRUB would name them.
 */
#include <string.h>

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

static uint64_t hex(const char digits[8])
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++) {
		char c = digits[i] | 0x20; /* lower case; leaves digits alone */
		value = value << 4 | (uint64_t)(c >= 'a' ? c - 'a' + 10 : c - '0');
	}
	return value;
}

static void read_archive(struct machine *m, const char *archive, uint64_t size)
{
	uint64_t at = 0;

	while (at + sizeof(struct cpio_header) <= size) {
		const struct cpio_header *h = (const void *)(archive + at);
		uint64_t name_size = hex(h->name_size), file_size = hex(h->size);
		uint64_t name = at + sizeof *h;
		uint64_t data = round_up(name + name_size, 4);

		if (memcmp(h->magic, "070701", 6) != 0)
			die("the initrd is no cpio archive of format newc at byte %lu", at);
		if (data > size || file_size > size - data)
			die("the initrd is cut short at byte %lu", at);
		if (name_size == 11 && memcmp(archive + name, "TRAILER!!!", 10) == 0)
			return;
		if (memcmp(archive + name, "./", 2) == 0) {
			name += 2;
			name_size -= 2;
		}
		if ((hex(h->mode) & 0170000) == 0100000) /* regular file */
			module_add(m, archive + name, name_size, archive + data, file_size);
		at = round_up(data + file_size, 4);
	}
	die("the initrd is cut short");
}

void pvh_read(struct machine *m, const void *start)
{
	const struct pvh_info *info = start;
	const struct pvh_memory *memory = (const void *)info->memory;
	const struct pvh_module *module = (const void *)info->modules;

	if (info->magic != PVH_MAGIC)
		die("started by neither multiboot2 nor PVH");
	if (info->version < 1)
		die("PVH start information of version 0 has no memory map");
	m->rsdp = info->rsdp;
	m->command_line = info->command_line == 0 ? NULL : (const char *)info->command_line;
	for (uint32_t i = 0; i < info->memory_count; i++) {
		uint32_t type = memory[i].type; /* as in E820 */
		memory_note(m, memory[i].base, memory[i].size, type == 1, type == 1 || type == 3 || type == 4);
	}
	for (uint32_t i = 0; i < info->module_count; i++) {
		uint64_t base = module[i].base & ~(PAGE_SIZE - 1ul);

		ranges_add(&memory_busy, base, round_up(module[i].base + module[i].size, PAGE_SIZE) - base);
		read_archive(m, (const void *)module[i].base, module[i].size);
	}
}
