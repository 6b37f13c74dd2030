/* SPDX-License-Identifier: BSD-2-Clause */
/* Multiboot2 specification 2.0, section 3.6: boot information. */
#include <string.h>

#include "loader.h"

enum { TAG_END = 0, TAG_COMMAND_LINE = 1, TAG_MODULE = 3, TAG_MEMORY = 6, TAG_SCREEN = 8, TAG_RSDP_1 = 14,
       TAG_RSDP_2 = 15, TAG_EFI_MEMORY = 17 };
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
		panic("more than %u modules were loaded", MACHINE_MAX_MODULES);
	while (n < name_size && n < MODULE_NAME_MAX - 1 && name[n] != '\0' && name[n] != ' ')
		n++;
	require(n < MODULE_NAME_MAX);
	memcpy(module->name, name, n);
	module->name[n] = '\0';
	module->data = data;
	module->size = size;
	m->module_count++;
}

static void read_rsdp(struct machine *m, const struct tag *tag)
{
	static _Alignas(16) char copy[36]; /* in the loader's memory, which is given to no cluster */
	uint64_t size = tag->size - sizeof *tag;

	if (m->rsdp != 0 && tag->type == TAG_RSDP_1)
		return;
	memset(copy, 0, sizeof copy);
	memcpy(copy, tag + 1, size < sizeof copy ? size : sizeof copy);
	m->rsdp = (uint64_t)copy;
}

static void read_screen(struct machine *m, const struct tag_screen *t)
{
	if (t->tag.size < sizeof *t || t->base == 0 || t->width > 1u << 15 || t->height > 1u << 15 ||
	    t->pitch > 1u << 18)
		return;
	m->screen = (struct boot_screen){ .base = t->base, .pitch = t->pitch, .width = t->width, .height = t->height,
					  .pixel_size = (t->bits + 7u) / 8 };
	if (t->type == SCREEN_TEXT)
		m->screen.kind = BOOT_SCREEN_TEXT;
	else if (t->type == SCREEN_RGB && t->bits >= 15 &&
	         (uint64_t)t->pitch >= (uint64_t)t->width * m->screen.pixel_size)
		m->screen.kind = BOOT_SCREEN_PIXELS;
}

/* How many entries a tag has, each at least `least` bytes. */
static uint32_t entries_of(const struct tag_memory *tag, uint32_t least)
{
	uint32_t size = tag->tag.size - (uint32_t)sizeof *tag;

	if (tag->tag.size < sizeof *tag || tag->entry_size < least || size % tag->entry_size != 0)
		panic("multiboot2: the memory map of %u bytes (tag %u) is not of entries of %u or more", tag->tag.size,
		    tag->tag.type, least);
	return size / tag->entry_size;
}

static void read_memory(struct machine *m, const struct tag_memory *tag)
{
	uint32_t count = entries_of(tag, sizeof(struct memory_entry));

	for (uint32_t i = 0; i < count; i++) {
		const struct memory_entry *entry = (const void *)((const char *)(tag + 1) + i * tag->entry_size);
		uint32_t type = entry->type;

		memory_note(m, entry->base, entry->size, type == MEMORY_USABLE,
			    type == MEMORY_USABLE || type == MEMORY_ACPI || type == MEMORY_NVS);
	}
}

static void read_efi_memory(struct machine *m, const struct tag_memory *tag)
{
	uint32_t count = entries_of(tag, sizeof(struct efi_descriptor));

	for (uint32_t i = 0; i < count; i++) {
		const struct efi_descriptor *d = (const void *)((const char *)(tag + 1) + i * tag->entry_size);
		uint64_t end = d->base + d->pages * PAGE_SIZE;

		if (d->pages > UINT64_MAX / PAGE_SIZE || end < d->base)
			continue;
		/* only for the border between RAM and devices: the other map decides what is usable */
		if (d->type >= EFI_LOADER_CODE && d->type <= EFI_ACPI_NVS && end <= 1ul << 32 && m->low_ram_end < end)
			m->low_ram_end = end;
	}
}

static void read_module(struct machine *m, const struct tag_module *tag)
{
	if (tag->tag.size < sizeof *tag)
		panic("multiboot2: the tag of module %u has %u bytes", m->module_count, tag->tag.size);
	module_add(m, tag->name, tag->tag.size - sizeof *tag, (const void *)(uint64_t)tag->start,
	           tag->end - tag->start);
	if (tag->end < tag->start)
		panic("multiboot2: module %s ends at 0x%x, before its start 0x%x", m->module[m->module_count - 1].name,
		    tag->end, tag->start);
	ranges_add(&memory_busy, tag->start & ~0xfffu, round_up(tag->end, PAGE_SIZE) - (tag->start & ~0xfffu));
}

static void read_command_line(struct machine *m, const struct tag *tag)
{
	const char *text = (const char *)(tag + 1);
	uint32_t size = tag->size - (uint32_t)sizeof *tag;

	if (strnlen(text, size) == size)
		panic("multiboot2: the command line does not end within its %u bytes", size);
	m->command_line = text;
}

static void read_tag(struct machine *m, const struct tag *tag)
{
	switch (tag->type) {
	case TAG_COMMAND_LINE:
		read_command_line(m, tag);
		break;
	case TAG_SCREEN:
		read_screen(m, (const void *)tag);
		break;
	case TAG_MODULE:
		read_module(m, (const void *)tag);
		break;
	case TAG_MEMORY:
		read_memory(m, (const void *)tag);
		break;
	case TAG_RSDP_1:
	case TAG_RSDP_2:
		read_rsdp(m, tag);
		break;
	case TAG_EFI_MEMORY:
		read_efi_memory(m, (const void *)tag);
		break;
	}
}

/* `info` is aligned to 8 bytes, as its tags are, and says how large it is. */
void multiboot2_read(struct machine *m, const void *info)
{
	uint32_t total = *(const uint32_t *)info;

	for (uint32_t at = 8; at < total;) {
		const struct tag *tag = (const void *)((const char *)info + at);

		if (total - at < sizeof *tag || tag->size < sizeof *tag || tag->size > total - at)
			panic("multiboot2: the tag at byte %u of %u runs over the end", at, total);
		if (tag->type == TAG_END)
			return;
		read_tag(m, tag);
		if (tag->size > total - at - 7)
			break;
		at += (uint32_t)round_up(tag->size, 8);
	}
	panic("multiboot2: the boot information of %u bytes has no end tag", total);
}
