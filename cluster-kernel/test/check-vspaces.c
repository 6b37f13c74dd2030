/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "arch.h"
#include "check.h"
#include "frame.h"
#include "vspace.h"

enum { ENTRIES = 512, KERNEL_HALF = 256 };

static bool inside(const struct boot_range *range, uint64_t paddr)
{
	return paddr >= range->base && paddr - range->base < range->size;
}

/* Memory that user level had to begin with; what boot kept for the kernel and the root task is not. */
static bool is_untyped_memory(const struct world *world, uint64_t paddr)
{
	const struct boot_info *info = world->kernel->boot;
	bool found = inside(&info->modules, paddr);
	for (unsigned i = 0; i < world->kernel->boot_memory.count; i++)
		found |= inside(&world->kernel->boot_memory.range[i], paddr);
	for (unsigned i = 0; i < info->device_count; i++)
		found |= inside(&info->device[i], paddr);
	for (unsigned i = 0; i < info->channel_count; i++)
		found |= inside(&info->channel[i].memory, paddr);
	return found;
}

/* A live frame capability says that it is mapped just so. */
static bool is_accounted(const struct world *world, const struct vspace *vspace, uint64_t vaddr, uint64_t entry,
                         unsigned level)
{
	for (size_t i = 0; i < world->slots; i++) {
		const struct cap *cap = &world->slot[i]->cap;
		if ((cap->flags & CAP_MAPPED) && cap->type == OBJECT_FRAME_4K + level && cap->vspace == vspace->id &&
		    cap_vaddr(cap) == vaddr && cap->object == arch_pte_address(entry, level) &&
		    !((entry >> PTE_RIGHTS & RIGHT_ALL) & ~cap->rights))
			return true;
	}
	return false;
}

static bool is_table_accounted(const struct world *world, const struct vspace *vspace, const void *table)
{
	const struct found *found = world_find(world, OBJECT_PAGE_TABLE, (uint64_t)table);
	return found && (found->slot->cap.flags & CAP_MAPPED) && found->slot->cap.vspace == vspace->id;
}

static void check_table(const struct world *world, const struct vspace *vspace, const uint64_t *table, unsigned level,
                        uint64_t vaddr)
{
	unsigned count = level == LEVEL_ROOT ? KERNEL_HALF : ENTRIES;
	for (unsigned i = 0; i < count; i++) {
		uint64_t entry = table[i], address = arch_pte_address(entry, level);
		uint64_t at = vaddr + ((uint64_t)i << (12 + 9 * level));
		if (!arch_pte_present(entry))
			continue;
		if (arch_pte_is_table(entry)) {
			CHECK(level > LEVEL_4K, "a page table below the lowest level", at, entry);
			CHECK(!is_untyped_memory(world, address) || is_table_accounted(world, vspace, direct(address)),
			      "an address space uses a page table that is none", at, entry);
			check_table(world, vspace, direct(address), level - 1, at);
		} else {
			CHECK(level <= LEVEL_1G, "a frame too large", at, entry);
			CHECK(!is_untyped_memory(world, address) || is_accounted(world, vspace, at, entry, level),
			      "a mapping that no capability stands for", at, entry);
		}
	}
	for (unsigned i = count; i < ENTRIES; i++)
		CHECK(table[i] == ((uint64_t)i << 12 | PTE_KERNEL), "the kernel's half of an address space has changed",
		      i, table[i]);
}

static void check_vspace(const struct world *world, const struct vspace *vspace)
{
	CHECK(world->kernel->vspace[vspace->id % KERNEL_VSPACES] == vspace &&
	      vspace->place == vspace->id % KERNEL_VSPACES, "an address space is not in the kernel's table",
	      vspace->id, vspace);
	check_table(world, vspace, vspace->root, LEVEL_ROOT, 0);
}

/* Returns the first place from `place` on whose translations are valid on the core; KERNEL_VSPACES if none is. */
static unsigned next_valid(const struct cpu *cpu, unsigned place)
{
	const bool *valid = place < KERNEL_VSPACES ? memchr(&cpu->own.tlb_valid[place], true, KERNEL_VSPACES - place)
	                                           : NULL;
	return valid ? (unsigned)(valid - cpu->own.tlb_valid) : KERNEL_VSPACES;
}

void check_vspaces(const struct world *world)
{
	const struct kernel *kernel = world->kernel;
	unsigned live = 0, known = 0;
	for (unsigned i = 0; i < KERNEL_VSPACES; i++)
		known += kernel->vspace[i] != 0;
	for (size_t i = 0; i < world->founds; i++)
		if (world->found[i].slot->cap.type == OBJECT_VSPACE) {
			check_vspace(world, (const struct vspace *)world->found[i].slot->cap.object);
			live++;
		}
	CHECK(known == live, "the kernel's table of address spaces holds dead ones", known, live);
	for (unsigned c = 0; c < kernel->cpu_count; c++) {
		const struct cpu *cpu = kernel->cpu[c];
		const struct vspace *loaded = cpu->own.loaded_vspace;
		CHECK(!loaded || world_find(world, OBJECT_VSPACE, (uint64_t)loaded),
		      "a core has loaded a dead address space", c,
		      loaded);
		CHECK(!loaded || (vspace_is_active(cpu, loaded) && cpu->own.tlb_valid[loaded->place]),
		      "an address space does not know a core that has loaded it",
		      c, loaded->active_mask[cpu->own.word]);
		CHECK(!(cpu->shared.debts & 1) && !cpu->own.doubts && !cpu->shared.flush_summary &&
		      !cpu->shared.flush_unanswered, "a core owes flushes, or is owed them, though it is in no entry",
		      c, cpu->shared.debts);
		for (unsigned i = next_valid(cpu, 0); i < KERNEL_VSPACES; i = next_valid(cpu, i + 1))
			CHECK(kernel->vspace[i] && vspace_is_active(cpu, kernel->vspace[i]),
			      "a core's translations are valid of a space that does not know the core", c, i);
		CHECK(!cpu->shared.owed.count, "a core owes flushes though it is in no entry", c,
		      cpu->shared.owed.count);
		const struct thread *thread = cpu->shared.current;
		CHECK(thread == &cpu->shared.idle || loaded == thread_vspace(thread),
		      "a core runs a thread in a foreign address space", c, loaded);
	}
	CHECK(!hosted_tlb_stale(world->machine), "a TLB remembers what is no longer mapped", 0, 0);
}
