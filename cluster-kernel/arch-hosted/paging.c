/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory-management unit: the kernel's half of root tables, walks, a TLB that forgets only when told. */
#include "arch.h"
#include "hosted.h"
#include "vspace.h"

enum { KERNEL_HALF = 256, ENTRIES = 512 };

void arch_vspace_init(uint64_t *root)
{
	for (unsigned i = KERNEL_HALF; i < ENTRIES; i++)
		root[i] = (uint64_t)i << 12 | PTE_KERNEL;
}

/* The entry that maps the address, 0 where there is none. */
static uint64_t walk(const struct vspace *vspace, uint64_t vaddr)
{
	const uint64_t *table = vspace->root;
	for (unsigned level = LEVEL_ROOT;; level--) {
		uint64_t entry = table[vaddr >> (12 + 9 * level) & (ENTRIES - 1)];
		if (!arch_pte_present(entry))
			return 0;
		if (!arch_pte_is_table(entry))
			return entry;
		table = direct(arch_pte_address(entry, level));
	}
}

uint64_t hosted_touch(struct hosted *machine, unsigned index, uint64_t vaddr)
{
	struct hosted_core *core = &machine->core[index];
	const struct vspace *vspace = core->cpu->own.loaded_vspace;
	vaddr &= ~4095ull;
	if (!vspace)
		return 0;
	for (unsigned i = 0; i < HOSTED_TLB; i++)
		if (core->tlb[i].vspace == vspace && core->tlb[i].vaddr == vaddr)
			return core->tlb[i].entry;
	uint64_t entry = walk(vspace, vaddr);
	if (entry) {
		unsigned i = core->tlb_next++ % HOSTED_TLB;
		core->tlb[i].vspace = vspace;
		core->tlb[i].vaddr = vaddr;
		core->tlb[i].entry = entry;
	}
	return entry;
}

void hosted_flush_tlb(void)
{
	for (unsigned i = 0; i < HOSTED_TLB; i++)
		hosted_self->tlb[i].vspace = 0;
}

bool hosted_tlb_stale(const struct hosted *machine)
{
	for (unsigned c = 0; c < machine->config.cores; c++) {
		const struct hosted_core *core = &machine->core[c];
		for (unsigned i = 0; i < HOSTED_TLB; i++)
			if (core->tlb[i].vspace && walk(core->tlb[i].vspace, core->tlb[i].vaddr) != core->tlb[i].entry)
				return true;
	}
	return false;
}
