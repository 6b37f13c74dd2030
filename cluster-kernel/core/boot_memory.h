/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for the objects that the kernel builds at boot; the rest becomes untyped. */
#pragma once

#include <stdint.h>
#include <skerry/boot.h>

struct boot_memory {
	uint32_t count;
	struct boot_range range[BOOT_MAX_RANGES]; /* free, shrinking from the front */
};

void boot_memory_init(struct boot_memory *memory, const struct boot_info *info);
/* Zeroed memory, aligned to `align` (a power of two, at least 4096); panics when there is none. Kernel address. */
void *boot_memory_take(struct boot_memory *memory, uint64_t size, uint64_t align);
