/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GRUB's boot information; the input is its tags. Nothing that an entry of a
 * memory map calls reserved may count as RAM, nor what the CPU cannot address.
 */
#include <string.h>

#include "fuzz.h"
#include "host.h"

#define REACH (1ul << 40)
enum { HEADER = 8, TAG_MEMORY = 6, USABLE = 1, ENTRIES = 16, PAGE = 4096 };

static uint64_t u64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static uint32_t u32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }

static void check_memory(const struct machine *m, const uint8_t *tag)
{
	uint32_t step = u32(tag + 8);

	for (uint32_t at = ENTRIES; at < u32(tag + 4); at += step) {
		uint64_t base = u64(tag + at), size = u64(tag + at + 8), last = (UINT64_MAX & ~(PAGE - 1ul)) - base;

		if (u32(tag + at + 16) != USABLE && base < UINT64_MAX - PAGE)
			MUST(ranges_common(&m->ram, base, size < last ? size : last) == 0);
	}
}

static void check(const struct machine *m, const uint8_t *info, size_t size)
{
	for (size_t at = HEADER; u32(info + at) != 0; at += (u32(info + at + 4) + 7) & ~7u) {
		MUST(at + 8 <= size);
		if (u32(info + at) == TAG_MEMORY)
			check_memory(m, info + at);
	}
	for (uint32_t i = 0; i < m->ram.count; i++) {
		const struct boot_range *r = &m->ram.at[i];

		MUST(r->size > 0 && r->base % PAGE == 0 && r->size % PAGE == 0 && r->base + r->size <= REACH);
		MUST(i == 0 || r[-1].base + r[-1].size <= r->base);
	}
	MUST(m->command_line == NULL || strlen(m->command_line) < size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct machine machine;
	uint32_t total = (uint32_t)size + HEADER;
	uint8_t *info = malloc(total);

	memset(info, 0, HEADER);
	memcpy(info, &total, sizeof total);
	if (size > 0)
		memcpy(info + HEADER, data, size);
	memset(&machine, 0, sizeof machine);
	memory_forget();
	memory_reach(REACH);
	if (HOST_TRY(multiboot2_read(&machine, info)) && HOST_TRY(memory_settle(&machine)))
		check(&machine, info, total);
	free(info);
	return 0;
}
