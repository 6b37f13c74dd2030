/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/* Finds the untypeds of device memory in ROOT. Called once, before the others. */
void device_memory_init(void);
/* Maps physical device memory, uncached. `paddr` and `size` are multiples of 4 KiB. */
int device_memory_map(int vspace, uint64_t paddr, uint64_t size, uint64_t vaddr);
