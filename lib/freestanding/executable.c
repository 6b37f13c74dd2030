/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <string.h>
#include <skerry/executable.h>
#include <skerry/span.h>

static bool is_executable(const Elf64_Ehdr *h)
{
	return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == EM_X86_64 &&
	       (h->e_type == ET_EXEC || h->e_type == ET_DYN) && h->e_phentsize == sizeof(Elf64_Phdr);
}

bool elf_read(struct elf_image *out, const void *file, uint64_t size, const char *name, struct error_message *err)
{
	Elf64_Ehdr header;

	memset(out, 0, sizeof *out);
	out->file = file;
	if (size < sizeof header)
		return error_set(err, "module %s is not an ELF64 executable for x86-64", name);
	memcpy(&header, file, sizeof header);
	if (!is_executable(&header))
		return error_set(err, "module %s is not an ELF64 executable for x86-64", name);
	if (header.e_type == ET_DYN)
		return error_set(err, "module %s is position-independent; link it with -static -no-pie", name);
	if (header.e_phoff % 8 != 0)
		return error_set(err, "module %s: its program headers are at byte %lu, which is no multiple of 8", name,
			      header.e_phoff);
	if (!span_fits(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr), size))
		return error_set(err, "module %s is cut short: its program headers are missing", name);
	out->entry = header.e_entry;
	out->headers = header.e_phoff;
	out->header_size = header.e_phentsize;
	out->header_count = header.e_phnum;

	for (uint32_t i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr p;

		memcpy(&p, out->file + header.e_phoff + i * sizeof p, sizeof p);
		if (p.p_type == PT_INTERP)
			return error_set(err, "module %s is linked dynamically", name);
		if (p.p_type != PT_LOAD || p.p_memsz == 0)
			continue;
		if (p.p_filesz > p.p_memsz || p.p_vaddr + p.p_memsz < p.p_vaddr)
			return error_set(err, "module %s: segment at 0x%lx has an impossible size", name, p.p_vaddr);
		if (!span_fits(p.p_offset, p.p_filesz, size))
			return error_set(err, "module %s is cut short: segment at 0x%lx is missing", name,
				      p.p_vaddr);
		if (out->count == ELF_MAX_SEGMENTS)
			return error_set(err, "module %s has more than %u segments", name, ELF_MAX_SEGMENTS);
		out->segment[out->count++] = (struct elf_segment){
			p.p_vaddr, p.p_memsz, p.p_offset, p.p_filesz,
			(p.p_flags & PF_R ? ELF_READ : 0) | (p.p_flags & PF_W ? ELF_WRITE : 0) |
				(p.p_flags & PF_X ? ELF_EXECUTE : 0),
		};
	}
	if (out->count == 0)
		return error_set(err, "module %s has nothing to load", name);
	return true;
}

bool elf_check_mappable(const struct elf_image *elf, uint64_t low, uint64_t high, uint32_t max_segments,
			const char *name, struct error_message *err)
{
	bool entry = false;

	if (elf->count > max_segments)
		return error_set(err, "module %s has more than %u segments", name, max_segments);
	for (uint32_t i = 0; i < elf->count; i++) {
		const struct elf_segment *s = &elf->segment[i];
		uint64_t last = s->vaddr + s->memory_size - 1;

		if (s->vaddr < low || last > high - 1)
			return error_set(err, "module %s: segment at 0x%lx is outside 0x%lx .. 0x%lx", name,
				      s->vaddr, low, high - 1);
		if ((s->rights & ELF_WRITE) && (s->rights & ELF_EXECUTE))
			return error_set(err, "module %s: segment at 0x%lx is writable and executable", name,
				      s->vaddr);
		if ((s->rights & ELF_EXECUTE) && elf->entry >= s->vaddr && elf->entry <= last)
			entry = true;
		for (uint32_t j = 0; j < i; j++) {
			const struct elf_segment *t = &elf->segment[j];

			if (s->vaddr < t->vaddr)
				return error_set(err, "module %s: segments at 0x%lx and 0x%lx are out of order", name,
					      t->vaddr, s->vaddr);
			if (s->vaddr >> 12 <= (t->vaddr + t->memory_size - 1) >> 12 &&
			    t->vaddr >> 12 <= last >> 12)
				return error_set(err, "module %s: segments at 0x%lx and 0x%lx share a page", name,
					      t->vaddr, s->vaddr);
		}
	}
	if (!entry)
		return error_set(err, "module %s: entry point 0x%lx is in no executable segment", name, elf->entry);
	return true;
}
