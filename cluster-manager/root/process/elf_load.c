/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/process.h>
#include "elf_load.h"
#include "memory.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

enum { SHARED_MAX = OWNERS_SHARED - 1 };

/* Frames of read-only segments, kept for the next program of the same file. */
static struct shared {
	int module;
	const void *file; /* in the module */
	unsigned segment;
	int frames;
	uint32_t count;
	/* the owner in which these frames themselves are mapped, not copies of them; OWNER_MANAGER: none */
	uint32_t user;
} shared[SHARED_MAX];
static uint32_t shared_count;

/* Fills frames with what the file has of a segment that begins at `skip` in its first page. */
static int frames_fill(int frames, uint32_t count, uint64_t skip, const char *data, uint64_t size)
{
	for (uint32_t done = 0; done < count && size; done += WINDOW_FRAMES) {
		uint32_t pages = count - done < WINDOW_FRAMES ? count - done : WINDOW_FRAMES;
		uint64_t room = (uint64_t)pages * SIZE_4K - skip;
		uint64_t part = size < room ? size : room;
		char *window;
		if (part < room) /* what is zero anyway needs no window */
			pages = (uint32_t)((skip + part + SIZE_4K - 1) / SIZE_4K);
		window = window_open(frames + (int)done, pages);
		if (!window)
			return -SKERRY_NO_MEMORY;
		memcpy(window + skip, data, part);
		window_close();
		data += part;
		size -= part;
		skip = 0;
	}
	return 0;
}

static struct shared *shared_find(const struct module *m, unsigned segment)
{
	for (uint32_t i = 0; i < shared_count; i++)
		if (shared[i].module == m->index && shared[i].file == m->data && shared[i].segment == segment)
			return &shared[i];
	return NULL;
}

/* The first program that uses them maps the frames themselves, others copies; so does one that is executed, whose
 * address space stays when it goes. */
static int shared_use(struct shared *s)
{
	if (s->user != OWNER_MANAGER || owner_now() >= OWNER_IMAGES)
		return slots_copy(s->frames, s->count);
	s->user = owner_now();
	return s->frames;
}

uint32_t elf_kept(void) { return shared_count; }

void elf_forget(uint32_t kept)
{
	while (shared_count > kept)
		memory_return(OWNER_SHARED + --shared_count);
}

void elf_unload(uint32_t owner)
{
	for (uint32_t i = 0; i < shared_count; i++)
		if (shared[i].user == owner) {
			vspace_unmap_range(shared[i].frames, shared[i].count);
			shared[i].user = OWNER_MANAGER;
		}
}

/* New frames with the segment's content; of an owner of their own where they are to be shared. */
static int make_frames(const struct module *m, const struct elf_segment *s, uint64_t skip, uint32_t count, bool share)
{
	uint32_t owner = share ? OWNER_SHARED + shared_count : owner_now(), before = owner_set(owner);
	int frames = memory_frames(OBJECT_FRAME_4K, count);
	int error = frames < 0 ? frames : frames_fill(frames, count, skip, (const char *)m->data + s->offset,
						      s->file_size);
	owner_set(before);
	if (error && share)
		memory_return(owner);
	return error ? error : frames;
}

static int load_segment(const struct module *m, unsigned segment, const struct elf_segment *s, int vspace,
                        struct elf_mapping *mapped)
{
	uint64_t start = s->vaddr & ~(uint64_t)(SIZE_4K - 1);
	uint32_t count = (uint32_t)((s->vaddr + s->memory_size - start + SIZE_4K - 1) / SIZE_4K);
	bool writable = s->rights & ELF_WRITE;
	unsigned rights = RIGHT_READ | (writable ? RIGHT_WRITE : 0) | (s->rights & ELF_EXECUTE ? RIGHT_EXECUTE : 0);
	struct shared *known = writable ? NULL : shared_find(m, segment);
	bool share = !writable && shared_count < SHARED_MAX;
	int frames = known ? shared_use(known) : make_frames(m, s, s->vaddr - start, count, share);

	if (frames < 0)
		return frames;
	if (!known && share) {
		known = &shared[shared_count++];
		*known = (struct shared){ m->index, m->data, segment, frames, count, OWNER_MANAGER };
		frames = shared_use(known);
		if (frames < 0)
			return frames;
	}
	*mapped = (struct elf_mapping){ start, frames, count, rights, known || share };
	return vspace_map_range(vspace, frames, count, SIZE_4K, start, rights, CACHE_WRITE_BACK);
}

int elf_load(const struct module *m, const char *name, int vspace, struct elf_image *image,
             struct elf_mapping *mapped, struct error_message *err)
{
	struct elf_mapping unused;

	/* all of the file, before memory is taken for any of it; page 0 stays unmapped */
	if (!elf_read(image, m->data, m->size, name, err) ||
	    !elf_check_mappable(image, SIZE_4K, PROCESS_HEAP_VADDR, ELF_MAX_SEGMENTS, name, err))
		return -SKERRY_BAD_ARGUMENT;
	for (uint32_t i = 0; i < image->count; i++) {
		int error = load_segment(m, i, &image->segment[i], vspace, mapped ? &mapped[i] : &unused);
		if (error)
			return error;
	}
	return 0;
}

int elf_tables(int vspace, uint64_t begin, uint64_t end, uint64_t *made)
{
	enum { REACH_2M = 1 << 21, REACH_1G = 1 << 30 };
	for (uint64_t at = begin & -(uint64_t)REACH_2M; at < end; at += REACH_2M) {
		const uint32_t missing = at / REACH_1G >= (*made + REACH_1G - 1) / REACH_1G ? 2 : at >= *made ? 1 : 0;
		for (uint32_t i = 0; i < missing; i++) {
			int table = memory_object(OBJECT_PAGE_TABLE, 0);
			if (table < 0)
				return table;
			/* an error: there was one, of the first process's first program */
			page_table_map(IPC, (uint64_t)table, (uint64_t)vspace, at);
		}
		*made = at + REACH_2M > *made ? at + REACH_2M : *made;
	}
	return 0;
}
