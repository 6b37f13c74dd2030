/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's elf_load(), with no memory behind it. */
#include "../root/process/elf_load.c"

#include "fuzz.h"
#include "root-elf.h"
#include "../root/process/test-owner.h"

enum { FRAMES_MOST = 4096 };

static uint64_t mapped_end;

int memory_frames(enum skerry_object type, uint32_t count)
{
	(void)type;
	MUST(count > 0);
	return count > FRAMES_MOST ? -SKERRY_NO_MEMORY : 7;
}

/* elf_tables() is for images that have been read. */
int memory_object(enum skerry_object type, unsigned size_bits)
{
	(void)type, (void)size_bits;
	return -SKERRY_NO_MEMORY;
}

int slots_copy(int first, uint32_t count)
{
	(void)count;
	return first;
}

static char *window;

void *window_open(int first, uint32_t count)
{
	(void)first;
	MUST(count > 0 && count <= WINDOW_FRAMES);
	return window = malloc(count * (size_t)SIZE_4K);
}

void window_close(void) { free(window); }

int vspace_map_range(int vspace, int first, uint32_t count, uint64_t size, uint64_t address, unsigned rights,
		     unsigned attributes)
{
	(void)vspace, (void)first, (void)attributes;
	MUST(size == SIZE_4K && address >= mapped_end && address + count * size <= PROCESS_HEAP_VADDR);
	MUST(!((rights & RIGHT_WRITE) && (rights & RIGHT_EXECUTE)));
	mapped_end = address + count * size;
	return 0;
}

const char *root_elf_refusal(const void *file, size_t size)
{
	struct module module = { file, size, 1 };
	static struct error_message err;
	struct elf_image image;
	struct elf_mapping mapped[ELF_MAX_SEGMENTS] = { 0 };

	shared_count = 0;
	mapped_end = SIZE_4K;
	err.text[0] = 0;
	if (elf_load(&module, "x", 3, &image, mapped, &err) == 0)
		for (unsigned i = 0; i < image.count; i++)
			MUST(mapped[i].count > 0 &&
			     mapped[i].address + mapped[i].count * (uint64_t)SIZE_4K <= mapped_end);
	return err.text[0] ? err.text : NULL;
}
