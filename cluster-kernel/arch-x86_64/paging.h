/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own page table, which the loader built (skerry/boot.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/boot.h>

/* Takes over the table; drops nothing yet. Core 0, first. */
void paging_init(const struct boot_info *info);
/* Removes the identity mapping. Called when all cores have entered the kernel. */
void paging_drop_identity(void);
/* Before the first address space: each core has CR4.PCIDE set. */
void paging_use_tags(bool use);
/* Maps one 4 KiB page of device registers, uncached; the same page twice gives the same address. */
void *map_device(uint64_t paddr);
/* Loads the kernel's own table: no user mappings. */
void paging_load_kernel(void);
