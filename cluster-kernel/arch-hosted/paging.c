/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory-management unit: the kernel's half of root tables, walks, a TLB that forgets only when told. */
#include "arch.h"
#include "hosted.h"
#include "vspace.h"

enum { KERNEL_HALF = 256, ENTRIES = 512 };

uint64_t arch_vspace_init(uint64_t *root, uint64_t id)
{
	for (unsigned i = KERNEL_HALF; i < ENTRIES; i++)
		root[i] = (uint64_t)i << 12 | PTE_KERNEL;
	return id % KERNEL_VSPACES + 1; /* the tag; 0 marks an empty entry of a TLB */
}

/*
 * What the processor and programs do to memory is no business of the thread sanitizer's: they read and write
 * without asking, and the kernel's only means against it is to unmap and to wait until all TLBs have been flushed.
 */
#define NO_SANITIZE_THREAD __attribute__((no_sanitize("thread")))

/* The entry that maps the address and the level it is at, 0 where there is none. */
NO_SANITIZE_THREAD static uint64_t page_walk(const struct vspace *vspace, uint64_t vaddr, unsigned *at)
{
	const volatile uint64_t *table = vspace->root;
	for (unsigned level = LEVEL_ROOT;; level--) {
		*at = level;
		uint64_t entry = table[vaddr >> (12 + 9 * level) & (ENTRIES - 1)];
		if (!arch_pte_present(entry))
			return 0;
		if (!arch_pte_is_table(entry))
			return entry;
		table = direct(arch_pte_address(entry, level));
	}
}

/* What the core's TLB says, filled where it says nothing; null where nothing is mapped. */
static const struct hosted_translation *tlb_translate(struct hosted_core *core, uint64_t vaddr)
{
	const struct vspace *vspace = core->cpu->own.loaded_vspace;
	struct hosted_translation new = { .tag = vspace ? vspace->loads : 0, .vaddr = vaddr & ~4095ull };
	if (!vspace)
		return 0;
	for (unsigned i = 0; i < HOSTED_TLB; i++)
		if (core->tlb[i].tag == new.tag && core->tlb[i].vaddr == new.vaddr)
			return &core->tlb[i];
	new.entry = page_walk(vspace, new.vaddr, &new.level);
	if (!new.entry)
		return 0;
	core->tlb[core->tlb_next % HOSTED_TLB] = new;
	return &core->tlb[core->tlb_next++ % HOSTED_TLB];
}

uint64_t hosted_touch(struct hosted *machine, unsigned core, uint64_t vaddr)
{
	const struct hosted_translation *translation = tlb_translate(&machine->core[core], vaddr);
	return translation ? translation->entry : 0;
}

/* The memory that a program may use so, null where it would fault or it is not memory. */
static volatile uint64_t *user_word(struct hosted *machine, unsigned core, uint64_t vaddr, unsigned right)
{
	const struct hosted_translation *t = tlb_translate(&machine->core[core], vaddr);
	if (!t || vaddr % 8 || !(t->entry >> PTE_RIGHTS & right))
		return 0;
	uint64_t size = 1ull << (12 + 9 * t->level);
	uint64_t paddr = arch_pte_address(t->entry, t->level) + (vaddr & (size - 1));
	const struct boot_range *memory = &machine->info.memory[0];
	return paddr - memory->base < memory->size ? direct(paddr) : 0;
}

NO_SANITIZE_THREAD bool hosted_load(struct hosted *machine, unsigned core, uint64_t vaddr, uint64_t *value)
{
	const volatile uint64_t *word = user_word(machine, core, vaddr, RIGHT_READ);
	if (word)
		*value = *word;
	return word;
}

NO_SANITIZE_THREAD bool hosted_store(struct hosted *machine, unsigned core, uint64_t vaddr, uint64_t value)
{
	volatile uint64_t *word = user_word(machine, core, vaddr, RIGHT_WRITE);
	if (word)
		*word = value;
	return word;
}

void hosted_flush_tag(uint64_t tag)
{
	for (unsigned i = 0; i < HOSTED_TLB; i++)
		if (hosted_self->tlb[i].tag == tag)
			hosted_self->tlb[i].tag = 0;
}

void hosted_flush_tlb(void)
{
	const struct vspace *loaded = hosted_self->cpu->own.loaded_vspace;
	hosted_flush_tag(loaded ? loaded->loads : 0);
}

void hosted_flush_kernel(void)
{
	hosted_self->kernel_flushes++;
	hosted_self->direct_seen = atomic_load(&hosted_self->machine->direct_losses);
}

/* The live address space with this tag that the core may use without a flush, null when there is none. */
static const struct vspace *usable_vspace(const struct hosted_core *core, uint64_t tag)
{
	const struct vspace *vspace = tag ? core->machine->kernel.vspace[tag - 1] : 0;
	return vspace && vspace_tlb_is_valid(core->cpu, vspace) ? vspace : 0;
}

uint64_t hosted_remembered(const struct hosted *machine, unsigned core, const struct vspace *vspace, uint64_t vaddr)
{
	const struct hosted_translation *tlb = machine->core[core].tlb;
	for (unsigned i = 0; i < HOSTED_TLB && vspace_tlb_is_valid(machine->core[core].cpu, vspace); i++)
		if (tlb[i].tag == vspace->loads && tlb[i].vaddr == vaddr)
			return tlb[i].entry;
	return 0;
}

bool hosted_tlb_stale(const struct hosted *machine)
{
	unsigned level;
	for (unsigned c = 0; c < machine->config.cores; c++) {
		const struct hosted_core *core = &machine->core[c];
		for (unsigned i = 0; i < HOSTED_TLB; i++) {
			const struct vspace *vspace = usable_vspace(core, core->tlb[i].tag);
			if (vspace && page_walk(vspace, core->tlb[i].vaddr, &level) != core->tlb[i].entry)
				return true;
		}
	}
	return false;
}
