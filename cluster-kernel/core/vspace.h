/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address spaces: trees of page tables with four levels. The first page is the root table, whose upper half is the
 * kernel's; the second holds this struct. Capabilities name a space by an id that is never reused, so a capability may
 * outlive the space it is mapped in.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "cap.h"
#include "cpu.h"

struct vspace {
	uint64_t root[512];
	uint64_t id;
	uint64_t loads; /* what the port's root register gets: root table and, where TLBs have them, tag */
	uint64_t owed_in; /* the TLB round of the last unmapping from the space, tlb.h */
	uint32_t references;
	/* id modulo KERNEL_VSPACES, of no other live space. Constant; atomic: gcc moves no other load across it then */
	_Atomic uint16_t place;
	/* a set: cores that may hold translations of it; only these are interrupted when it changes */
	_Alignas(64) _Atomic uint64_t active_mask[CORE_SET_WORDS];
	uint8_t reserved[4096 - 64 - 8 * CORE_SET_WORDS];
};
_Static_assert(sizeof(struct vspace) == 1u << VSPACE_BITS, "the ABI's VSpace size");

/* Highest user address + 1: the last page stays empty, so that SYSRET never sees a non-canonical address. */
#define USER_TOP 0x00007ffffffff000ull

/*
 * `active_mask` has the bit of each core whose TLB may hold translations of the space, tagged. A core's bit is set
 * under the lock before the core loads the space, so that a flush that begins later asks this core; it is cleared by
 * the core itself, when it is asked to flush a space that it does not use. Against exclusive entries the lock orders
 * `active_mask`. Against readers it is seq_cst. Hazard: store buffering. The core sets its bit and then walks the
 * tables; a reader changes an entry and then reads the mask. Either the walk sees the new entry, or the reader sees the
 * bit. This holds for each core, and so for each word of the mask alone.
 *
 * The byte tlb_valid[place] of a core is set where the core's tagged translations of the space are valid; where it is
 * clear, loading the space drops what is under the tag. Only the core itself reads and writes it, so it is plain
 * memory. It is set only while the core's bit in `active_mask` is. So a space that is destroyed has been unloaded by
 * each core whose byte was set, and the byte is clear when another space gets the place.
 */
/* Returns whether this core may hold translations of the space. */
static inline bool vspace_is_active(const struct cpu *cpu, const struct vspace *vspace)
{
	return atomic_load_explicit(&vspace->active_mask[cpu->own.word], memory_order_relaxed) & cpu->own.bit;
}
/* Returns whether this core's tagged translations of the space are valid. */
static inline bool vspace_tlb_is_valid(const struct cpu *cpu, const struct vspace *vspace)
{
	kernel_assert(vspace && vspace->place == vspace->id % KERNEL_VSPACES);
	return cpu->own.tlb_valid[atomic_load_explicit(&vspace->place, memory_order_relaxed)];
}
/* This core is about to load the space, which may be null. Reads its own byte first: others write the mask's line. */
static inline void vspace_retain_core(const struct cpu *cpu, struct vspace *vspace)
{
	if (vspace && !vspace_tlb_is_valid(cpu, vspace) && !vspace_is_active(cpu, vspace))
		atomic_fetch_or(&vspace->active_mask[cpu->own.word], cpu->own.bit);
}
/* Called by the core that loads the space. Returns whether its tagged translations are valid, and marks them valid. */
static inline bool vspace_tlb_validate(struct cpu *cpu, const struct vspace *vspace)
{
	kernel_assert(vspace_is_active(cpu, vspace));
	if (vspace_tlb_is_valid(cpu, vspace))
		return true;
	cpu->own.tlb_valid[vspace->place] = true;
	return false;
}
/* Flushes all translations of the space on this core (REQUEST_FLUSH_AND_UNLOAD: and unloads the space). */
void vspace_flush_here(struct cpu *cpu, struct vspace *vspace, unsigned request);

enum { LEVEL_4K = 0, LEVEL_2M = 1, LEVEL_1G = 2, LEVEL_ROOT = 3 };

bool vspace_room(const struct kernel *kernel, uint64_t count);
void vspace_init(struct kernel *kernel, struct vspace *vspace);
void vspace_destroy(struct cpu *cpu, struct vspace *vspace);
struct vspace *vspace_by_id(struct kernel *kernel, uint64_t id);
/* Returns the entry for `vaddr` at `level`; null if a table above it is missing, whose level is then in *missing. */
uint64_t *vspace_entry(struct vspace *vspace, uint64_t vaddr, unsigned level, unsigned *missing);
/* Removes the mapping of a mapped frame or page table capability. Cores may use it until tlb_flush_pending(). */
void vspace_unmap_cap(struct cpu *cpu, const struct cap *cap);
/*
 * Checks the invocation that maps `cap`, a frame or a page table, with `words` words. Returns SKERRY_OK, with the
 * address space that the message names in *vspace, or an error.
 */
uint64_t mapping_check(struct cpu *cpu, const struct cap *cap, uint64_t info, unsigned words, struct vspace **vspace);
/* `cap` is mapped at `vaddr` from now on. */
void mapping_note(struct cpu *cpu, struct cap *cap, const struct vspace *vspace, uint64_t vaddr);
/* Stores `value` in an empty entry. Returns false if the entry is not empty. */
bool entry_fill(struct cpu *cpu, uint64_t *entry, uint64_t value);
/*
 * Invocation that unmaps `cap`. Returns SKERRY_OK or SKERRY_NOT_MAPPED. Cores may use the mapping until
 * tlb_flush_pending().
 */
uint64_t mapping_undo(struct cpu *cpu, struct cap *cap);
/*
 * Limits the mapping of the mapped frame `cap` to `rights`; with `may_gain` gives it exactly these. Without RIGHT_READ
 * the frame is unmapped. Cores may use the old rights until tlb_flush_pending().
 */
void mapping_protect(struct cpu *cpu, struct cap *cap, unsigned rights, bool may_gain);
uint64_t invoke_page_table(struct cpu *cpu, struct slot *slot, uint64_t info);
