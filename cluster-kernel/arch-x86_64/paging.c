/* SPDX-License-Identifier: BSD-2-Clause */
#include "paging.h"
#include "arch.h"
#include "assert.h"
#include "kernel.h"
#include "memory.h"

/* Registers of devices live in the top 2 MiB: one table. */
#define DEVICE_BASE 0xffffffffffe00000ull
enum { DEVICE_PAGES = 64 };
#define LARGE_PAGE (1ull << 21)

static uint64_t *root_table;
static uint64_t device_directory[512] __attribute__((aligned(4096)));
static uint64_t device_table[512] __attribute__((aligned(4096)));
static unsigned device_pages;
static bool tags; /* process-context identifiers (SDM 3, 4.10.1) */
_Static_assert(KERNEL_VSPACES < 4096, "a tag has 12 bits");

/* physical address of something in the image */
static uint64_t image_physical(const void *address)
{
	const uint64_t *table = root_table;
	for (unsigned level = 3; level > 0; level--)
		table = direct(arch_pte_address(table[(uint64_t)address >> (12 + 9 * level) & 511], level));
	return arch_pte_address(table[(uint64_t)address >> 12 & 511], 0) + ((uint64_t)address & 4095);
}

void paging_init(const struct boot_info *info)
{
	kernel_assert(!(info->tables.base & 4095));
	root_table = direct(info->tables.base);
	uint64_t *pointers = direct(arch_pte_address(root_table[511], 3));
	device_directory[511] = arch_pte_table(image_physical(device_table)) & ~PTE_USER;
	pointers[511] = arch_pte_table(image_physical(device_directory)) & ~PTE_USER;
}

void paging_drop_identity(void)
{
	for (unsigned i = 0; i < 256; i++)
		root_table[i] = 0;
}

void *map_device(uint64_t paddr)
{
	uint64_t entry = (paddr & ~4095ull) | PTE_PRESENT | PTE_WRITE | PTE_PCD | PTE_PWT | PTE_NX;
	unsigned page = 0;
	while (page < device_pages && device_table[page] != entry)
		page++;
	if (page == DEVICE_PAGES)
		arch_panic("no room to map another device");
	if (page == device_pages) {
		device_table[page] = entry;
		device_pages++;
	}
	return (void *)(DEVICE_BASE + page * 4096ull + (paddr & 4095));
}

void paging_load_kernel(void) { write_cr3(physical(root_table)); }

uint64_t arch_vspace_init(uint64_t *root, uint64_t id)
{
	kernel_assert(!((uint64_t)root & 4095));
	for (unsigned i = 256; i < 512; i++)
		root[i] = root_table[i];
	/* tag 0 is the kernel's own table's */
	return physical(root) | (tags ? CR3_KEEP | (id % KERNEL_VSPACES + 1) : 0);
}

/* The entry of the piece's page directory; null: there is none, or memory there is mapped in larger pages. */
static uint64_t *direct_entry(uint64_t base)
{
	uint64_t vaddr = KERNEL_DIRECT_BASE + base;
	uint64_t *table = root_table;
	for (unsigned level = 3; level > 1; level--) {
		uint64_t entry = table[vaddr >> (12 + 9 * level) & 511];
		if (!arch_pte_is_table(entry))
			return 0;
		table = direct(arch_pte_address(entry, level));
	}
	return &table[vaddr >> 21 & 511];
}

/* As the loader maps it (loader/tables.c). */
static uint64_t direct_page(uint64_t base) { return base | PTE_PRESENT | PTE_WRITE | PTE_LARGE | PTE_NX; }

uint32_t arch_direct_count(const struct kernel *kernel, uint64_t base, uint32_t pieces)
{
	(void)kernel;
	uint32_t count = 0;
	kernel_assert(!(base & (LARGE_PAGE - 1)));
	for (uint32_t i = 0; i < pieces; i++) {
		const uint64_t *entry = direct_entry(base + i * LARGE_PAGE);
		if (!entry || arch_pte_is_table(*entry))
			return ARCH_NO_TABLE;
		count += arch_pte_present(*entry) && arch_pte_address(*entry, 1) == base + i * LARGE_PAGE;
	}
	return count;
}

void arch_direct_set(struct kernel *kernel, uint64_t base, uint32_t pieces, bool mapped)
{
	kernel_assert(arch_direct_count(kernel, base, pieces) == (mapped ? 0 : pieces));
	for (uint32_t i = 0; i < pieces; i++)
		*direct_entry(base + i * LARGE_PAGE) = mapped ? direct_page(base + i * LARGE_PAGE) : 0;
}

void paging_use_tags(bool use) { tags = use; }
