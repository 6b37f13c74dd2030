/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot_memory.h"
#include "arch.h"
#include "assert.h"
#include "kernel.h"
#include "memory.h"

void boot_memory_init(struct boot_memory *memory, const struct boot_info *info)
{
	kernel_assert(info->memory_count <= BOOT_MAX_RANGES);
	memory->count = info->memory_count;
	for (unsigned i = 0; i < memory->count; i++)
		memory->range[i] = info->memory[i];
}

void *boot_memory_take(struct boot_memory *memory, uint64_t size, uint64_t align)
{
	kernel_assert(size && align >= 4096 && !(align & (align - 1)));
	size = (size + 4095) & ~4095ull;
	for (unsigned i = 0; i < memory->count; i++) {
		struct boot_range *range = &memory->range[i];
		uint64_t start = (range->base + align - 1) & -align;
		uint64_t lost = start - range->base;
		if (lost > range->size || size > range->size - lost)
			continue;
		if (lost && memory->count == BOOT_MAX_RANGES)
			continue;
		if (lost) /* what alignment skips stays free */
			memory->range[memory->count++] = (struct boot_range){ range->base, lost };
		range->base = start + size;
		range->size -= lost + size;
		kernel_assert(!(start & (align - 1)));
		memory_zero(direct(start), size);
		return direct(start);
	}
	arch_panic("not enough memory for the kernel's own state");
}
