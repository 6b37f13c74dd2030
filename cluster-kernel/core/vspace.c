/* SPDX-License-Identifier: BSD-2-Clause */
#include "vspace.h"
#include "arch.h"
#include "frame.h"
#include "guard.h"
#include "kernel.h"
#include "memory.h"
#include "message.h"
#include "tlb.h"
#include "work.h"

bool vspace_room(const struct kernel *kernel, uint64_t count)
{
	kernel_assert(kernel->vspace_count <= KERNEL_VSPACES);
	return count <= KERNEL_VSPACES - kernel->vspace_count;
}

/* For assertions. Returns whether no core has valid translations of a space that had the place before. */
static inline bool place_is_unloaded(const struct kernel *kernel, unsigned place)
{
	for (unsigned i = 0; i < kernel->cpu_count; i++)
		if (kernel->cpu[i]->own.tlb_valid[place])
			return false;
	return true;
}

void vspace_init(struct kernel *kernel, struct vspace *vspace)
{
	assert_exclusive();
	kernel_assert(!((uint64_t)vspace & ((1u << VSPACE_BITS) - 1)) && kernel->vspace_count < KERNEL_VSPACES);
	unsigned place = kernel->vspace_free[kernel->vspace_count++];
	kernel_assert(place < KERNEL_VSPACES && !kernel->vspace[place]);
	vspace->id = ++kernel->vspaces_made * KERNEL_VSPACES + place;
	vspace->place = (uint16_t)place;
	kernel->vspace[place] = vspace;
	kernel_assert(place_is_unloaded(kernel, place));
	vspace->loads = arch_vspace_init(vspace->root, vspace->id);
}

struct vspace *vspace_by_id(struct kernel *kernel, uint64_t id)
{
	struct vspace *vspace = kernel->vspace[id % KERNEL_VSPACES];
	kernel_assert(!vspace || vspace->id % KERNEL_VSPACES == id % KERNEL_VSPACES);
	return vspace && vspace->id == id ? vspace : 0;
}

void vspace_flush_here(struct cpu *cpu, struct vspace *vspace, unsigned request)
{
	kernel_assert(vspace && (request == REQUEST_FLUSH || request == REQUEST_FLUSH_AND_UNLOAD));
	bool loaded = cpu->own.loaded_vspace == vspace;
	struct vspace *needed = current(cpu) == &cpu->shared.idle ? 0 : thread_vspace(current(cpu));
	if (loaded && request == REQUEST_FLUSH) {
		arch_flush_tlb();
		return;
	}
	cpu->own.tlb_valid[vspace->place] = false;
	if (needed != vspace)
		atomic_fetch_and_explicit(&vspace->active_mask[cpu->own.word], ~cpu->own.bit, memory_order_relaxed);
	if (loaded) {
		/* the thread continues in its present space; without one it faults at its first instruction */
		arch_unload_vspace(cpu);
		cpu_decline_fast(cpu);
		cpu->own.vspace_wanted = needed;
		vspace_retain_core(cpu, needed);
	}
}

void vspace_destroy(struct cpu *cpu, struct vspace *vspace)
{
	struct kernel *kernel = kernel_of(cpu);
	const unsigned place = vspace->place;
	assert_exclusive();
	kernel_assert(vspace->references == 0 && kernel->vspace[place] == vspace && kernel->vspace_count > 0);
	tlb_leave(cpu, vspace);
	kernel_assert(!tlb_has_cores(kernel, vspace));
	kernel->vspace[place] = 0;
	kernel->vspace_free[--kernel->vspace_count] = place;
	work_done(cpu, WORK_UNMAP);
}

/*@ requires level <= LEVEL_ROOT && vaddr < USER_TOP;
  @ assigns \nothing;
  @ ensures bits: \result == vaddr / (1 << (12 + 9 * level)) % 512; */
static unsigned index_at(uint64_t vaddr, unsigned level)
{
	kernel_assert(level <= LEVEL_ROOT && vaddr < USER_TOP);
	return vaddr >> (12 + 9 * level) & 511;
}

/* A reader may be changing an entry that maps a frame. */
static uint64_t entry_load(const uint64_t *entry) { return __atomic_load_n(entry, __ATOMIC_ACQUIRE); }

uint64_t *vspace_entry(struct vspace *vspace, uint64_t vaddr, unsigned level, unsigned *missing)
{
	uint64_t *table = vspace->root;
	for (unsigned l = LEVEL_ROOT; l > level; l--) {
		uint64_t entry = entry_load(&table[index_at(vaddr, l)]);
		if (!arch_pte_is_table(entry)) {
			*missing = l - 1;
			return 0;
		}
		table = direct(arch_pte_address(entry, l));
	}
	return &table[index_at(vaddr, level)];
}

/* Returns the entry that leads to the page table; null if it is not mapped any more. */
static uint64_t *entry_of_table(struct vspace *vspace, const struct cap *cap)
{
	kernel_assert(cap->type == OBJECT_PAGE_TABLE && (cap->flags & CAP_MAPPED));
	uint64_t *table = vspace->root;
	for (unsigned l = LEVEL_ROOT; l > LEVEL_4K; l--) {
		uint64_t *entry = &table[index_at(cap_vaddr(cap), l)];
		if (!arch_pte_is_table(*entry))
			return 0;
		table = direct(arch_pte_address(*entry, l));
		if ((uint64_t)table == cap->object)
			return entry;
	}
	return 0;
}

/*
 * Returns the entry that maps the frame, and its value in *found. Null if a page table on the way was replaced, which
 * removed the mapping.
 */
static uint64_t *entry_of_frame(struct vspace *vspace, const struct cap *cap, uint64_t *found)
{
	unsigned missing;
	kernel_assert(cap_flags(cap) & CAP_MAPPED);
	uint64_t *entry = vspace_entry(vspace, cap_vaddr(cap), frame_level(cap), &missing);
	*found = entry ? entry_load(entry) : 0;
	if (entry && (!arch_pte_present(*found) || arch_pte_address(*found, frame_level(cap)) != cap->object))
		entry = 0;
	return entry;
}

/*
 * Writes the entry. Returns false, to a reader only, if the entry is not `found` any more: another reader has changed
 * it, or a processor has (accessed, dirty).
 */
static bool set_entry(struct cpu *cpu, struct vspace *vspace, uint64_t *entry, uint64_t found, uint64_t value)
{
	if (kernel_exclusive(cpu)) {
		*entry = value;
	} else {
		tlb_debt(cpu);
		if (!__atomic_compare_exchange_n(entry, &found, value, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return false;
	}
	tlb_owe(cpu, vspace);
	work_done(cpu, WORK_UNMAP);
	return true;
}

bool entry_fill(struct cpu *cpu, uint64_t *entry, uint64_t value)
{
	uint64_t found = entry_load(entry);
	if (arch_pte_present(found))
		return false;
	tlb_doubt(cpu); /* what was there may be in a TLB yet */
	if (!kernel_exclusive(cpu))
		return __atomic_compare_exchange_n(entry, &found, value, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	*entry = value;
	return true;
}

static void unmap_frame(struct cpu *cpu, struct vspace *vspace, const struct cap *cap)
{
	uint64_t found, *entry;
	do {
		entry = entry_of_frame(vspace, cap, &found);
		if (!entry) {
			tlb_doubt(cpu);
			return;
		}
	} while (!set_entry(cpu, vspace, entry, found, 0));
}

void vspace_unmap_cap(struct cpu *cpu, const struct cap *cap)
{
	assert_entered();
	kernel_assert(cap_flags(cap) & CAP_MAPPED);
	struct vspace *vspace = vspace_by_id(kernel_of(cpu), cap->vspace);
	if (!vspace)
		return;
	if (cap->type != OBJECT_PAGE_TABLE) {
		unmap_frame(cpu, vspace, cap);
		return;
	}
	assert_exclusive();
	uint64_t *entry = entry_of_table(vspace, cap);
	if (entry)
		set_entry(cpu, vspace, entry, *entry, 0);
}

uint64_t mapping_check(struct cpu *cpu, const struct cap *cap, uint64_t info, unsigned words, struct vspace **vspace)
{
	assert_entered();
	struct slot *slot = message_cap_of(cpu, info, 0, OBJECT_VSPACE);
	if (message_words(info) < words)
		return SKERRY_TRUNCATED;
	if (!slot)
		return SKERRY_BAD_CAP;
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	if (cap_flags(cap) & CAP_MAPPED)
		return SKERRY_MAPPED;
	*vspace = (struct vspace *)slot->cap.object;
	kernel_assert(vspace_by_id(kernel_of(cpu), (*vspace)->id) == *vspace);
	return SKERRY_OK;
}

void mapping_note(struct cpu *cpu, struct cap *cap, const struct vspace *vspace, uint64_t vaddr)
{
	cap_set_flag(cpu, cap, CAP_MAPPED);
	cap_set_vaddr(cap, vaddr);
	cap->vspace = vspace->id;
}

uint64_t mapping_undo(struct cpu *cpu, struct cap *cap)
{
	assert_entered();
	if (!(cap_flags(cap) & CAP_MAPPED))
		return SKERRY_NOT_MAPPED;
	vspace_unmap_cap(cpu, cap);
	cap_clear_flag(cpu, cap, CAP_MAPPED);
	return SKERRY_OK;
}

void mapping_protect(struct cpu *cpu, struct cap *cap, unsigned rights, bool may_gain)
{
	assert_entered();
	kernel_assert((cap_flags(cap) & CAP_MAPPED) && !(rights & ~cap->rights & RIGHT_ALL));
	if (!(rights & RIGHT_READ)) {
		mapping_undo(cpu, cap);
		return;
	}
	struct vspace *vspace = vspace_by_id(kernel_of(cpu), cap->vspace);
	uint64_t found, protected, *entry;
	do {
		entry = vspace ? entry_of_frame(vspace, cap, &found) : 0;
		protected = entry ? arch_pte_protect(found, may_gain ? rights : rights & arch_pte_rights(found)) : 0;
		if (!entry || protected == found) {
			tlb_doubt(cpu);
			return;
		}
		/* flushed also where the mapping gains rights: a stale translation with fewer rights would fault */
	} while (!set_entry(cpu, vspace, entry, found, protected));
}

static uint64_t page_table_map(struct cpu *cpu, struct cap *cap, uint64_t info)
{
	struct vspace *vspace;
	unsigned missing = 0;
	uint64_t error = mapping_check(cpu, cap, info, 1, &vspace);
	if (error)
		return error;
	uint64_t vaddr = message_word(current(cpu), 0);
	if (vaddr >= USER_TOP)
		return SKERRY_BAD_ARGUMENT;
	if (vspace_entry(vspace, vaddr, LEVEL_4K, &missing))
		return SKERRY_MAPPED; /* no level is missing */
	uint64_t *entry = vspace_entry(vspace, vaddr, missing + 1, &missing);
	if (arch_pte_present(*entry))
		return SKERRY_MAPPED; /* a large frame is there */

	kernel_assert(cap->type == OBJECT_PAGE_TABLE && !(cap->object & ((1u << PAGE_TABLE_BITS) - 1)));
	*entry = arch_pte_table(physical((void *)cap->object));
	mapping_note(cpu, cap, vspace, vaddr);
	return SKERRY_OK;
}

uint64_t invoke_page_table(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	assert_exclusive();
	struct cap *cap = &slot->cap;
	uint64_t error;
	switch (message_label(info)) {
	case PAGE_TABLE_MAP: return page_table_map(cpu, cap, info);
	case PAGE_TABLE_UNMAP:
		error = mapping_undo(cpu, cap);
		if (error)
			return error;
		tlb_flush_pending(cpu); /* a core may be on its way through the table */
		memory_zero((void *)cap->object, 4096);
		return SKERRY_OK;
	default: return SKERRY_BAD_LABEL;
	}
}
