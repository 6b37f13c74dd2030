/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address spaces: trees of page tables with four levels. The first page is the
 * root table, whose upper half is the kernel's; the second is what the kernel
 * knows of the space. Capabilities name a space by an id that is never reused,
 * so that a capability may outlive the space it is mapped in.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "cap.h"

struct vspace {
	uint64_t root[512];
	uint64_t id;
	uint64_t loads; /* what the port's root register gets: root table and, where TLBs have them, tag */
	_Atomic uint64_t active_mask; /* cores that may hold translations of it: only these are interrupted when it changes */
	_Atomic uint64_t tlb_valid_mask; /* of these, those whose translations are valid; each core writes its own bit */
	uint64_t owed_in; /* the round in which cores flush what was last unmapped from it, tlb.h */
	uint32_t references;
	uint8_t reserved[4096 - 44];
};
_Static_assert(sizeof(struct vspace) == 1u << VSPACE_BITS, "the ABI's VSpace size");

/* Highest user address + 1: the last page stays empty, so that SYSRET never sees a non-canonical address. */
#define USER_TOP 0x00007ffffffff000ull

/*
 * `active_mask` has the bit of each core whose TLB may hold translations of the space, tagged. A core's bit is set under the
 * lock before the core loads the space, so that a flush that begins later asks this core; it is cleared by the core
 * itself, when it is asked to flush a space that it does not use. `tlb_valid_mask` has the bit of each core whose tagged
 * translations are valid: only the core itself writes it, and where it was clear, loading drops what is under the tag.
 * `active_mask` is ordered by the lock; against readers, which change entries with the core inside, by seq_cst (store
 * buffering: the core sets its bit and then walks the tables, the reader changes an entry and then reads the bits).
 * `tlb_valid_mask` is relaxed: it is ordered by the request and its answer (remote.h).
 */
static inline void vspace_retain_core(struct vspace *vspace, unsigned core)
{
	kernel_assert(core < 64);
	if (vspace && !(atomic_load_explicit(&vspace->active_mask, memory_order_relaxed) >> core & 1))
		atomic_fetch_or(&vspace->active_mask, 1ull << core);
}
static inline bool vspace_tlb_is_valid(const struct vspace *vspace, unsigned core)
{
	kernel_assert(vspace && core < 64);
	return atomic_load_explicit(&vspace->tlb_valid_mask, memory_order_relaxed) >> core & 1;
}
/* For the core that loads the space: returns whether its translations are valid, and marks them so. */
static inline bool vspace_tlb_validate(struct vspace *vspace, unsigned core)
{
	kernel_assert(atomic_load_explicit(&vspace->active_mask, memory_order_relaxed) >> core & 1);
	bool valid = vspace_tlb_is_valid(vspace, core);
	if (!valid)
		atomic_fetch_or_explicit(&vspace->tlb_valid_mask, 1ull << core, memory_order_relaxed);
	return valid;
}
/* Flushes all translations of the space on this core (REQUEST_FLUSH_AND_UNLOAD: and unloads the space). */
void vspace_flush_here(struct cpu *cpu, struct vspace *vspace, unsigned request);

enum { LEVEL_4K = 0, LEVEL_2M = 1, LEVEL_1G = 2, LEVEL_ROOT = 3 };

bool vspace_room(const struct kernel *kernel, uint64_t count);
void vspace_init(struct kernel *kernel, struct vspace *vspace);
void vspace_destroy(struct cpu *cpu, struct vspace *vspace);
struct vspace *vspace_by_id(struct kernel *kernel, uint64_t id);
/* The entry for `vaddr` at `level`; null when a table above it is missing, whose level is then in *missing. */
uint64_t *vspace_entry(struct vspace *vspace, uint64_t vaddr, unsigned level, unsigned *missing);
/* Undoes what a mapped frame or page table capability maps; cores may hold it until tlb_flush_pending(). */
void vspace_unmap_cap(struct cpu *cpu, const struct cap *cap);
/*
 * For the invocation that maps `cap`, a frame or a page table, with `words` words: returns SKERRY_OK, with the address
 * space that the message names in *vspace, or what is wrong.
 */
uint64_t mapping_check(struct cpu *cpu, const struct cap *cap, uint64_t info, unsigned words, struct vspace **vspace);
/* `cap` is mapped at `vaddr` from now on. */
void mapping_note(struct cpu *cpu, struct cap *cap, const struct vspace *vspace, uint64_t vaddr);
/* Puts `value` into an entry that is empty; false: it is not. */
bool entry_fill(struct cpu *cpu, uint64_t *entry, uint64_t value);
/* For the invocation that unmaps `cap`: SKERRY_OK, or SKERRY_NOT_MAPPED. Cores may hold it until tlb_flush_pending(). */
uint64_t mapping_undo(struct cpu *cpu, struct cap *cap);
/*
 * The mapped frame `cap` is mapped with at most `rights`, with `may_gain` with just these; without RIGHT_READ it is
 * unmapped. Cores may hold what it was until tlb_flush_pending().
 */
void mapping_protect(struct cpu *cpu, struct cap *cap, unsigned rights, bool may_gain);
uint64_t invoke_page_table(struct cpu *cpu, struct slot *slot, uint64_t info);
