/* SPDX-License-Identifier: BSD-2-Clause */
/* The manager's image_make(), with no memory behind it, and each page of what it has made, touched. */
#include "../root/process/image.c"

#include "fuzz.h"
#include "root-elf.h"

enum { FRAMES_MOST = 4096 };

static uint32_t owner;
static char *window;

uint32_t owner_set(uint32_t next)
{
	uint32_t before = owner;
	owner = next;
	return before;
}

uint32_t owner_now(void) { return owner; }
void memory_return(uint32_t of) { (void)of; }
void manager_panic(const char *format, ...) { (void)format, abort(); }

int memory_reserve(struct memory_reserve *reserve, enum skerry_object type, unsigned size_bits, uint32_t count)
{
	(void)reserve, (void)size_bits;
	MUST(count > 0 && type == OBJECT_FRAME_4K);
	return count > FRAMES_MOST ? -SKERRY_NO_MEMORY : 7;
}

int memory_commit(struct memory_reserve *reserve, int first, uint32_t count)
{
	(void)reserve;
	MUST(first >= 7 && count > 0 && count <= IMAGE_STEP);
	return 0;
}

int slots_take(uint32_t count) { return count > FRAMES_MOST ? -SKERRY_NO_RESOURCE : 9; }

int slots_copy_to(int copies, int first, uint32_t count)
{
	MUST(copies >= 9 && first >= 7 && count > 0 && count <= IMAGE_STEP);
	return 0;
}

void *window_open(int first, uint32_t count)
{
	(void)first;
	MUST(!window && count > 0 && count <= IMAGE_STEP);
	return window = malloc(count * (size_t)SIZE_4K);
}

void window_close(void)
{
	free(window);
	window = NULL;
}

int vspace_map_range(int vspace, int first, uint32_t count, uint64_t size, uint64_t address, unsigned rights,
		     unsigned attributes)
{
	(void)vspace, (void)first, (void)attributes;
	MUST(size == SIZE_4K && count > 0 && address >= SIZE_4K && address + count * size <= PROCESS_HEAP_VADDR);
	MUST(!((rights & RIGHT_WRITE) && (rights & RIGHT_EXECUTE)));
	return 0;
}

static void touch_all(struct image *image)
{
	uint64_t end = SIZE_4K;

	for (uint32_t i = 0; i < image->count; i++) {
		const struct image_segment *s = &image->segment[i];

		MUST(s->address >= end && s->pages > 0);
		end = s->address + (uint64_t)s->pages * SIZE_4K;
		for (uint64_t at = s->address; at < end; at += SIZE_4K)
			MUST(image_has(image, at) && image_has(image, at + SIZE_4K - 1) && !image_touch(image, 3, at));
	}
	MUST(!image_has(image, end) && !image_has(image, 0));
}

const char *root_elf_refusal(const void *file, size_t size)
{
	struct module module = { file, size, 1 };
	static struct error_message err;
	static struct image image;
	struct elf_image elf;

	shared_count = 0;
	err.text[0] = 0;
	if (!image_make(&image, &module, "x", 3, &elf, &err))
		touch_all(&image);
	return err.text[0] ? err.text : NULL;
}
