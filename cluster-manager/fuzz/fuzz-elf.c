/* SPDX-License-Identifier: BSD-2-Clause */
/* Program images, as kernel, root task and program; a manager loads what the loader takes for a program. */
#include <skerry/boot.h>
#include <skerry/executable.h>
#include <skerry/process.h>
#include <skerry/root_info.h>

#include "fuzz.h"
#include "root-elf.h"

static void check_segment(const struct elf_image *elf, uint32_t i, uint64_t low, uint64_t high)
{
	const struct elf_segment *s = &elf->segment[i];
	__uint128_t from = s->vaddr, to = from + s->memory_size;

	MUST(from >= low && to <= high && !((s->rights & ELF_WRITE) && (s->rights & ELF_EXECUTE)));
	for (uint32_t j = 0; j < i; j++) {
		__uint128_t other = elf->segment[j].vaddr, end = other + elf->segment[j].memory_size;

		MUST((end - 1) >> 12 < from >> 12);
	}
}

static bool try_as(const uint8_t *file, size_t size, uint64_t low, uint64_t high, uint32_t most)
{
	struct error_message err = { .text = "" };
	struct elf_image elf;
	bool entry = false;

	if (!elf_read(&elf, file, size, "x", &err)) {
		MUST(err.text[0] != '\0');
		return false;
	}
	for (uint32_t i = 0; i < elf.count; i++) {
		MUST(elf.segment[i].offset <= size && elf.segment[i].file_size <= size - elf.segment[i].offset);
		MUST(elf.segment[i].file_size <= elf.segment[i].memory_size && elf.segment[i].memory_size > 0);
	}
	if (!elf_check_mappable(&elf, low, high, most, "x", &err)) {
		MUST(err.text[0] != '\0');
		return false;
	}
	MUST(elf.count > 0 && elf.count <= most);
	for (uint32_t i = 0; i < elf.count; i++) {
		const struct elf_segment *s = &elf.segment[i];

		check_segment(&elf, i, low, high);
		entry |= (s->rights & ELF_EXECUTE) && elf.entry >= s->vaddr && elf.entry - s->vaddr < s->memory_size;
	}
	MUST(entry);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file = fuzz_copy(data, size);
	const char *wrong = root_elf_refusal(file, size);

	try_as(file, size, KERNEL_IMAGE_BASE, UINT64_MAX, ELF_MAX_SEGMENTS);
	try_as(file, size, 4096, ROOT_RESERVED_BASE, BOOT_MAX_SEGMENTS);
	if (try_as(file, size, 4096, PROCESS_HEAP_VADDR, ELF_MAX_SEGMENTS) && wrong != NULL) {
		fprintf(stderr, "fuzz: the loader accepts a program that the manager refuses: %s\n", wrong);
		abort();
	}
	free(file);
	return 0;
}
