/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TLB shootdown. Hazard: use after free. A TLB may still hold a translation that
 * the page tables do not have any more, while its frame is given to others.
 *
 * A kernel entry that empties a page-table entry records the address space
 * (tlb_owe). Before it releases the lock it interrupts every core that may hold
 * translations of a recorded space, and waits until all have flushed them
 * (tlb_flush_pending): one round for all recorded spaces. So when a system call
 * returns, or stops at a preemption point, no core can use what it has unmapped.
 *
 * Rounds are numbered. `owed_in` of a recorded space is the number of the next
 * round.
 *
 * Readers (guard.h) make rounds side by side: each records spaces in its own core's `owed` alone, and asks the cores
 * that hold translations (remote_flush). Hazard: a stale translation behind a finished call. Reader B finds that reader
 * A has emptied an entry, or taken a right, and returns while A's round is still under way. So A makes its core's
 * `debts` odd before it changes an entry, and even again after its round. B, which relies on a change that it did not
 * make (tlb_doubt), first makes its own round and then waits until no core that had odd `debts` still has that value.
 * Writers find no debts, since no reader is inside.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cpu;
struct kernel;
struct vspace;

enum { TLB_SPACES = 8 }; /* in one round; an entry that unmaps from more spaces makes more rounds */

/* The spaces that other cores are asked to flush. The asking core does not change the list until all have answered. */
struct tlb_spaces {
	uint32_t count;
	struct vspace *vspace[TLB_SPACES];
};

/* Records that an entry of `vspace`'s page tables has become empty; makes a round first where there is no room. */
void tlb_owe(struct cpu *cpu, struct vspace *vspace);
/* Called by a reader before it changes a page-table entry. */
void tlb_debt(struct cpu *cpu);
/* Called by a kernel entry that relies on a page-table entry which it has read and not written. */
void tlb_doubt(struct cpu *cpu);
/*
 * Makes a round. Afterwards no TLB holds a translation of the recorded spaces that is not in their page tables; after
 * tlb_doubt() this holds for the page-table entries that were found, too.
 */
void tlb_flush_pending(struct cpu *cpu);
/* Returns whether any core may hold translations of the space. */
bool tlb_has_cores(const struct kernel *kernel, const struct vspace *vspace);
/* Makes every core flush and unload `vspace`, which is about to be destroyed. Caller holds the kernel alone. */
void tlb_leave(struct cpu *cpu, struct vspace *vspace);
