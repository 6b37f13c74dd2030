/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <skerry/process.h>
#include "elf_load.h"
#include "memory.h"
#include "root.h"
#include "string.h"
#include "vspace.h"

#define PIE_BASE 0x400000ull /* where position-independent programs go */

enum { SHARED_MAX = 64 };

/* Frames of read-only segments, kept for the next program of the same module. */
static struct shared {
	int module;
	unsigned segment;
	int frames;
} shared[SHARED_MAX];
static uint32_t shared_count;

static bool in_file(const struct module *m, uint64_t offset, uint64_t size)
{
	return offset <= m->size && size <= m->size - offset;
}

static const char *check_header(const struct module *m)
{
	const Elf64_Ehdr *e = m->data;
	if (m->size < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_ident[EI_DATA] != ELFDATA2LSB || e->e_machine != EM_X86_64)
		return "not an ELF64 file for x86-64";
	if (e->e_type != ET_EXEC && e->e_type != ET_DYN)
		return "not an executable";
	if (e->e_phentsize != sizeof(Elf64_Phdr) || e->e_phoff % 8 ||
	    !in_file(m, e->e_phoff, (uint64_t)e->e_phnum * sizeof(Elf64_Phdr)))
		return "its program headers are not in the file";
	return NULL;
}

/* `end`: the first page after all earlier segments. */
static const char *check_segment(const struct module *m, const Elf64_Phdr *p, uint64_t base, uint64_t end)
{
	if (!in_file(m, p->p_offset, p->p_filesz) || p->p_filesz > p->p_memsz)
		return "a segment is not in the file";
	if (p->p_vaddr >= PROCESS_HEAP_VADDR || p->p_memsz > PROCESS_HEAP_VADDR - base - p->p_vaddr)
		return "a segment reaches beyond where programs may be";
	if (base + p->p_vaddr < end)
		return "segments overlap, share a page or are out of order";
	if ((p->p_flags & PF_W) && (p->p_flags & PF_X))
		return "a segment is both writable and executable";
	return NULL;
}

/* Fills frames with what the file has of a segment that begins at `skip` in its first page. */
static int fill(int frames, uint32_t count, uint64_t skip, const char *data, uint64_t size)
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
		window_close(frames + (int)done, pages);
		data += part;
		size -= part;
		skip = 0;
	}
	return 0;
}

static int shared_frames(int module, unsigned segment)
{
	for (uint32_t i = 0; i < shared_count; i++)
		if (shared[i].module == module && shared[i].segment == segment)
			return shared[i].frames;
	return 0;
}

static int load_segment(const struct module *m, unsigned segment, const Elf64_Phdr *p, uint64_t base, int vspace)
{
	uint64_t address = base + p->p_vaddr;
	uint64_t start = address & ~(uint64_t)(SIZE_4K - 1);
	uint32_t count = (uint32_t)((address + p->p_memsz - start + SIZE_4K - 1) / SIZE_4K);
	bool writable = p->p_flags & PF_W;
	unsigned rights = RIGHT_READ | (writable ? RIGHT_WRITE : 0) | (p->p_flags & PF_X ? RIGHT_EXECUTE : 0);
	int frames = writable ? 0 : shared_frames(m->index, segment);

	if (frames) {
		frames = slots_copy(frames, count);
		if (frames < 0)
			return frames;
	} else {
		frames = memory_frames(OBJECT_FRAME_4K, count);
		if (frames < 0)
			return frames;
		int error = fill(frames, count, address - start, (const char *)m->data + p->p_offset, p->p_filesz);
		if (error)
			return error;
		if (!writable && shared_count < SHARED_MAX)
			shared[shared_count++] = (struct shared){ m->index, segment, frames };
	}
	return vspace_map_range(vspace, frames, count, SIZE_4K, start, rights, CACHE_WRITE_BACK);
}

int elf_load(const struct module *m, int vspace, struct elf_image *image, const char **wrong)
{
	*wrong = check_header(m);
	if (*wrong)
		return -SKERRY_BAD_ARGUMENT;
	const Elf64_Ehdr *e = m->data;
	const Elf64_Phdr *p = (const Elf64_Phdr *)((const char *)m->data + e->e_phoff);
	uint64_t base = e->e_type == ET_DYN ? PIE_BASE : 0;
	uint64_t end = SIZE_4K;

	*image = (struct elf_image){ base + e->e_entry, 0, e->e_phentsize, e->e_phnum };
	for (unsigned i = 0; i < e->e_phnum; i++) {
		if (p[i].p_type == PT_INTERP) {
			*wrong = "not statically linked";
			return -SKERRY_BAD_ARGUMENT;
		}
		if (p[i].p_type != PT_LOAD || p[i].p_memsz == 0)
			continue;
		*wrong = check_segment(m, &p[i], base, end);
		if (*wrong)
			return -SKERRY_BAD_ARGUMENT;
		end = (base + p[i].p_vaddr + p[i].p_memsz + SIZE_4K - 1) & ~(uint64_t)(SIZE_4K - 1);
		if (e->e_phoff >= p[i].p_offset && e->e_phoff - p[i].p_offset < p[i].p_filesz)
			image->headers = base + p[i].p_vaddr + (e->e_phoff - p[i].p_offset);
		int error = load_segment(m, i, &p[i], base, vspace);
		if (error)
			return error;
	}
	return 0;
}
