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
 * Readers (guard.h) make rounds side by side: each records spaces in its own core's `owed` alone, and asks the cores that
 * hold translations (remote_flush). Hazard: a reader finds that another has emptied an entry, or taken a right, and returns
 * before the other's round is over. So a reader makes its core's `debts` odd before it changes an entry, and even after
 * its round; a reader that found something done, and did not do it itself (tlb_doubt), waits for the cores with
 * odd `debts`, after its own round. Writers find no debts.
 */
#pragma once

#include <stdint.h>

struct cpu;
struct vspace;

enum { TLB_SPACES = 8 }; /* in one round; an entry that takes from more makes more rounds */

/* The spaces that a request to other cores is about. The asking core does not change them until all have answered. */
struct tlb_spaces {
	uint32_t count;
	struct vspace *vspace[TLB_SPACES];
};

/* Records that an entry of `vspace`'s page tables has become empty; makes a round first where there is no room. */
void tlb_owe(struct cpu *cpu, struct vspace *vspace);
/* Of a reader that is about to change an entry. */
void tlb_debt(struct cpu *cpu);
/* Of an entry that relies on what it has found in an entry, and has not written there. */
void tlb_doubt(struct cpu *cpu);
/*
 * Makes a round: afterwards no TLB holds anything of the recorded spaces that is not in their page tables; nor, after
 * tlb_doubt(), of what the entry has found.
 */
void tlb_flush_pending(struct cpu *cpu);
/* Makes every core flush and unload `vspace`, which is about to be destroyed. Caller holds the kernel alone. */
void tlb_leave(struct cpu *cpu, struct vspace *vspace);
