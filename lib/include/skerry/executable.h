/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading ELF64 executables for x86-64, without trusting them. */
#pragma once

#include <skerry/error_message.h>

enum { ELF_MAX_SEGMENTS = 16, ELF_READ = 1, ELF_WRITE = 2, ELF_EXECUTE = 4 };

struct elf_segment {
	uint64_t vaddr, memory_size; /* bytes, not rounded to pages */
	uint64_t offset, file_size;  /* in the file; the rest is zero */
	uint32_t rights;
};

struct elf_image {
	const uint8_t *file;
	uint64_t entry;
	uint64_t headers; /* where the program headers are in the file */
	uint16_t header_size, header_count;
	uint32_t count;
	struct elf_segment segment[ELF_MAX_SEGMENTS]; /* as in the file; none empty */
};

/* Any static executable that is not position-independent: what `file` does not hold whole is refused. */
bool elf_read(struct elf_image *out, const void *file, uint64_t size, const char *name, struct error_message *err);

/*
 * Checks whether the loader or a manager can map it: every segment inside low .. high - 1, in ascending order, no two
 * in one page, none writable and executable, the entry point in an executable one.
 */
bool elf_check_mappable(const struct elf_image *elf, uint64_t low, uint64_t high, uint32_t max_segments,
			const char *name, struct error_message *err);

/* Returns the address of its program headers in the program, 0 where no segment holds them. */
static inline uint64_t elf_headers(const struct elf_image *image)
{
	for (uint32_t i = 0; i < image->count; i++) {
		const struct elf_segment *s = &image->segment[i];
		if (image->headers >= s->offset && image->headers - s->offset < s->file_size)
			return s->vaddr + (image->headers - s->offset);
	}
	return 0;
}
