/* SPDX-License-Identifier: BSD-2-Clause */
/* Multiboot2 specification 2.0, section 3.6: boot information. */
#include <string.h>

#include "loader.h"

enum { TAG_END = 0, TAG_COMMAND_LINE = 1, TAG_MODULE = 3, TAG_MEMORY = 6, TAG_SCREEN = 8, TAG_RSDP_1 = 14, TAG_RSDP_2 = 15, TAG_EFI_MEMORY = 17 };
enum { MEMORY_USABLE = 1, MEMORY_ACPI = 3, MEMORY_NVS = 4 };
enum { EFI_LOADER_CODE = 1, EFI_ACPI_NVS = 10 }; /* types between are RAM */

struct tag {
	uint32_t type, size;
};
struct tag_module {
	struct tag tag;
	uint32_t start, end;
	char name[];
};
struct tag_memory {
	struct tag tag;
	uint32_t entry_size, version;
};
struct memory_entry {
	uint64_t base, size;
	uint32_t type, reserved;
};
struct tag_screen {
	struct tag tag;
	uint64_t base;
	uint32_t pitch, width, height;
	uint8_t bits, type;
};
enum { SCREEN_RGB = 1, SCREEN_TEXT = 2 };
struct efi_descriptor {
	uint32_t type, pad;
	uint64_t base, virtual, pages;
};

void module_add(struct machine *m, const char *name, uint64_t name_size, const void *data, uint64_t size)
{
	struct machine_module *module = &m->module[m->module_count];
	uint64_t n = 0;

	if (m->module_count == MACHINE_MAX_MODULES)
		die("more than %u modules were loaded", MACHINE_MAX_MODULES);
	while (n < name_size && n < MODULE_NAME_MAX - 1 && name[n] != '\0' && name[n] != ' ')
		n++;
	memcpy(module->name, name, n);
	module->name[n] = '\0';
	module->data = data;
	module->size = size;
	m->module_count++;
}

static void read_efi_memory(struct machine *m, const struct tag_memory *tag)
{
	const char *p = (const char *)(tag + 1), *end = (const char *)tag + tag->tag.size;

	for (; p + sizeof(struct efi_descriptor) <= end; p += tag->entry_size) {
		const struct efi_descriptor *d = (const void *)p;
		uint64_t top = d->base + d->pages * PAGE_SIZE;

		/* only to tell where RAM ends and devices begin: the other map says what is usable */
		if (d->type >= EFI_LOADER_CODE && d->type <= EFI_ACPI_NVS && top <= 1ul << 32 &&
		    m->low_ram_end < top)
			m->low_ram_end = top;
	}
}

static void read_rsdp(struct machine *m, const struct tag *tag)
{
	static _Alignas(16) char copy[36]; /* in the loader's memory, which nobody gets */
	uint64_t size = tag->size - sizeof *tag;

	if (m->rsdp != 0 && tag->type == TAG_RSDP_1)
		return;
	memset(copy, 0, sizeof copy);
	memcpy(copy, tag + 1, size < sizeof copy ? size : sizeof copy);
	m->rsdp = (uint64_t)copy;
}

static void read_screen(struct machine *m, const struct tag_screen *t)
{
	if (t->tag.size < sizeof *t || t->base == 0 || t->width > 1u << 15 || t->height > 1u << 15 || t->pitch > 1u << 18)
		return;
	m->screen = (struct boot_screen){ .base = t->base, .pitch = t->pitch, .width = t->width, .height = t->height,
					  .pixel_size = (t->bits + 7u) / 8 };
	if (t->type == SCREEN_TEXT)
		m->screen.kind = BOOT_SCREEN_TEXT;
	else if (t->type == SCREEN_RGB && t->bits >= 15 && (uint64_t)t->pitch >= (uint64_t)t->width * m->screen.pixel_size)
		m->screen.kind = BOOT_SCREEN_PIXELS;
}

void multiboot2_read(struct machine *m, const void *info)
{
	const char *p = (const char *)info + 8;
	const char *end = (const char *)info + *(const uint32_t *)info;

	for (const struct tag *tag = (const void *)p; p + sizeof *tag <= end && tag->type != TAG_END;
	     p += round_up(tag->size, 8), tag = (const void *)p) {
		if (tag->size < sizeof *tag)
			break;
		switch (tag->type) {
		case TAG_COMMAND_LINE:
			m->command_line = (const char *)(tag + 1);
			break;
		case TAG_SCREEN:
			read_screen(m, (const void *)tag);
			break;
		case TAG_MODULE: {
			const struct tag_module *t = (const void *)tag;

			module_add(m, t->name, tag->size - sizeof *t, (const void *)(uint64_t)t->start,
				   t->end - t->start);
			ranges_add(&memory_busy, t->start & ~0xfffu, round_up(t->end, PAGE_SIZE) - (t->start & ~0xfffu));
			break;
		}
		case TAG_MEMORY: {
			const struct tag_memory *t = (const void *)tag;

			for (const char *e = (const char *)(t + 1); t->entry_size != 0 && e < p + tag->size;
			     e += t->entry_size) {
				const struct memory_entry *entry = (const void *)e;
				uint32_t type = entry->type;

				memory_note(m, entry->base, entry->size, type == MEMORY_USABLE,
					    type == MEMORY_USABLE || type == MEMORY_ACPI || type == MEMORY_NVS);
			}
			break;
		}
		case TAG_RSDP_1:
		case TAG_RSDP_2:
			read_rsdp(m, tag);
			break;
		case TAG_EFI_MEMORY:
			if (((const struct tag_memory *)tag)->entry_size >= sizeof(struct efi_descriptor))
				read_efi_memory(m, (const void *)tag);
			break;
		}
	}
}
