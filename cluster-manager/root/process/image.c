/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/process.h>
#include <skerry/require.h>
#include "image.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

enum { SHARED_MAX = OWNERS_SHARED - 1 };

/* Frames of read-only segments, kept for the next program of the same module. Programs map copies of their capabilities. */
static struct shared {
	int module;
	unsigned segment;
	struct image_frames frames;
} shared[SHARED_MAX];
static uint32_t shared_count;

static uint32_t owner_shared(const struct image_frames *frames)
{
	return OWNER_SHARED + (uint32_t)((const struct shared *)((const char *)frames - offsetof(struct shared, frames)) - shared);
}

static struct image_frames *shared_find(int module, unsigned segment)
{
	for (uint32_t i = 0; i < shared_count; i++)
		if (shared[i].module == module && shared[i].segment == segment)
			return &shared[i].frames;
	return NULL;
}

static int reserve(struct image_frames *frames, uint32_t pages)
{
	frames->first = memory_reserve(&frames->reserve, OBJECT_FRAME_4K, 0, pages);
	return frames->first < 0 ? frames->first : 0;
}

/* Frames that the module's next programs share, of an owner of their own. */
static int reserve_shared(struct image_segment *s, int module, unsigned segment)
{
	struct shared *next = &shared[shared_count];
	*next = (struct shared){ .module = module, .segment = segment };
	uint32_t owner = owner_shared(&next->frames), before = owner_set(owner);
	int error = reserve(&next->frames, s->pages);
	owner_set(before);
	if (error) {
		memory_return(owner);
		return error;
	}
	shared_count++;
	s->shared = &next->frames;
	s->pays = true;
	return 0;
}

static int make_segment(struct image_segment *s, const struct module *m, unsigned number, const struct elf_segment *elf)
{
	const uint64_t start = elf->vaddr & ~(uint64_t)(SIZE_4K - 1);
	const bool writable = elf->rights & ELF_WRITE;
	*s = (struct image_segment){
		.address = start, .pages = (uint32_t)((elf->vaddr + elf->memory_size - start + SIZE_4K - 1) / SIZE_4K),
		.rights = RIGHT_READ | (writable ? RIGHT_WRITE : 0) | (elf->rights & ELF_EXECUTE ? RIGHT_EXECUTE : 0),
		.data = (const char *)m->data + elf->offset, .skip = elf->vaddr - start, .size = elf->file_size,
	};
	s->shared = writable ? NULL : shared_find(m->index, number);
	if (writable || (!s->shared && shared_count == SHARED_MAX))
		return reserve(&s->own, s->pages);
	int error = s->shared ? 0 : reserve_shared(s, m->index, number);
	s->copies = error ? error : slots_take(s->pages);
	return s->copies < 0 ? s->copies : 0;
}

/* Page tables are not reserved: so that none is missing later, something is mapped by each of them now. */
static int make_tables(struct image *image, int vspace)
{
	for (uint32_t i = 0; i < image->count; i++) {
		const struct image_segment *s = &image->segment[i];
		const uint64_t end = s->address + (uint64_t)s->pages * SIZE_4K;
		for (uint64_t at = s->address; at < end; at = (at & -SIZE_2M) + SIZE_2M) {
			int error = image_touch(image, vspace, at);
			if (error)
				return error;
		}
	}
	return 0;
}

int image_make(struct image *image, const struct module *m, const char *name, int vspace, struct elf_image *elf, struct error_message *err)
{
	/* all of the file, before memory is reserved for any of it; page 0 stays unmapped */
	if (!elf_read(elf, m->data, m->size, name, err) ||
	    !elf_check_mappable(elf, SIZE_4K, PROCESS_HEAP_VADDR, ELF_MAX_SEGMENTS, name, err))
		return -SKERRY_BAD_ARGUMENT;
	*image = (struct image){ .count = elf->count };
	for (uint32_t i = 0; i < elf->count; i++) {
		int error = make_segment(&image->segment[i], m, i, &elf->segment[i]);
		if (error)
			return error;
	}
	return make_tables(image, vspace);
}

void image_undo(struct image *image)
{
	for (uint32_t i = image->count; i--;) {
		if (!image->segment[i].pays)
			continue;
		require(image->segment[i].shared == &shared[shared_count - 1].frames); /* no other program has started since */
		memory_return(owner_shared(image->segment[i].shared));
		shared_count--;
	}
	image->count = 0;
}

/* The number of the segment that has the address; image->count: none. */
static uint32_t find(const struct image *image, uint64_t address)
{
	uint32_t i = 0;
	while (i < image->count && address - image->segment[i].address >= (uint64_t)image->segment[i].pages * SIZE_4K)
		i++;
	return i;
}

bool image_has(const struct image *image, uint64_t address) { return find(image, address) < image->count; }

/* Copies what the file has of these pages, whose frames are zero and not mapped. Frames that stayed empty would be used as they are. */
static void fill(const struct image_segment *s, int frames, uint32_t page, uint32_t count)
{
	const uint64_t start = (uint64_t)page * SIZE_4K, end = start + (uint64_t)count * SIZE_4K;
	const uint64_t from = start > s->skip ? start : s->skip, to = end < s->skip + s->size ? end : s->skip + s->size;
	if (from >= to)
		return;
	char *window = window_open(frames, (uint32_t)((to - start + SIZE_4K - 1) / SIZE_4K));
	if (!window)
		manager_panic("no memory to fill a program's pages");
	memcpy(window + (from - start), s->data + (from - s->skip), to - from);
	window_close();
}

/* Makes these pages' frames and fills them. Returns 0 or an error: SLOT_FULL where they are there already. */
static int make_frames(const struct image_segment *s, struct image_frames *frames, uint32_t page, uint32_t count)
{
	int error = memory_commit(&frames->reserve, frames->first + (int)page, count);
	if (error)
		return error;
	frames->made += count;
	fill(s, frames->first + (int)page, page, count);
	return 0;
}

/* Copies of the capabilities to these pages' shared frames. SLOT_FULL: there are some already. */
static int make_copies(const struct image_segment *s, uint32_t page, uint32_t count)
{
	uint32_t before = owner_set(owner_shared(s->shared));
	int error = make_frames(s, s->shared, page, count);
	owner_set(before);
	if (error == -SKERRY_SLOT_FULL)
		error = 0; /* another program has touched them */
	return error ? error : slots_copy_to(s->copies + (int)page, s->shared->first + (int)page, count);
}

int image_touch(struct image *image, int vspace, uint64_t address)
{
	require(image_has(image, address));
	struct image_segment *s = &image->segment[find(image, address)];
	const uint32_t page = (uint32_t)((address - s->address) / SIZE_4K) / IMAGE_STEP * IMAGE_STEP;
	const uint32_t count = s->pages - page < IMAGE_STEP ? s->pages - page : IMAGE_STEP;
	int error = s->shared ? make_copies(s, page, count) : make_frames(s, &s->own, page, count);
	if (error == -SKERRY_SLOT_FULL)
		return 0; /* another thread touched them, too */
	if (!error)
		error = vspace_map_range(vspace, (s->shared ? s->copies : s->own.first) + (int)page, count, SIZE_4K,
					 s->address + (uint64_t)page * SIZE_4K, s->rights, CACHE_WRITE_BACK);
	if (error)
		return error;
	image->mapped += count;
	image->mapped_shared += s->rights & RIGHT_WRITE ? 0 : count;
	return 0;
}

uint64_t image_untouched(const struct image *image)
{
	uint64_t pages = 0;
	for (uint32_t i = 0; i < image->count; i++) {
		const struct image_segment *s = &image->segment[i];
		if (!s->shared || s->pays)
			pages += s->pages - (s->shared ? s->shared : &s->own)->made;
	}
	return pages * SIZE_4K;
}

uint64_t elf_headers(const struct elf_image *elf)
{
	for (uint32_t i = 0; i < elf->count; i++) {
		const struct elf_segment *s = &elf->segment[i];
		if (elf->headers >= s->offset && elf->headers - s->offset < s->file_size)
			return s->vaddr + (elf->headers - s->offset);
	}
	return 0;
}
