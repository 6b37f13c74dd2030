/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote calls: a core asks others of its cluster to leave a thread and its
 * address space that are about to be destroyed, or to flush their TLBs.
 *
 * Hazard: deadlock. The asking core waits with the lock held, so the asked core
 * must not need the lock to answer. A core that runs user code, or idles, is
 * interrupted and serves before it contends for the lock; a core that waits for
 * the lock serves from its waiting loop (kernel_relax).
 *
 * Order: the asking core, one at a time, writes the request to the line of each group (core_group.h) of asked cores,
 * stores their bits in `asked` with release, and then interrupts the cores. An asked core loads its bit with acquire,
 * serves, and clears it with release; it leaves the bits of others, which serve at the same time. The asking core waits
 * with acquire until `asked` is 0, so that all that the asked cores did is visible to it, and it may reuse `spaces` and
 * the line.
 *
 * Readers (lock.h) that run side by side may each ask for a flush. The asking core stores in its own
 * `flush_unanswered` how many it asks. It sets its bit in `flush_askers` of each, and then the bit of that word in
 * `flush_summary`, both with release; the one that finds the summary empty interrupts the core. The asked core takes
 * the summary, then the words that it names, flushes, and counts the asking core's `flush_unanswered` down with
 * release. While a core waits it serves the flushes that others ask of it. Hazard: deadlock of two readers that ask
 * each other. Hazard: lost request. A core that took the summary before the word was set would not look there again;
 * so the word comes first, and a word may be empty because an earlier call has taken it. Hazard: time of check, time
 * of use. The fast path checks that a space's translations are valid and then waits for an object's lock. So a core
 * serves nothing while it waits for an object's lock, and no holder of such a lock may ask.
 */
#pragma once

#include <stdint.h>

struct core_set;
struct cpu;
struct tlb_spaces;

/*
 * Has every core of the set serve `request` (enum cpu_request), and waits for all. The set may include this core, but
 * not for DESCHEDULE. FLUSH and FLUSH_AND_UNLOAD are about the address spaces `spaces`. Caller holds the kernel alone.
 */
void remote_request(struct cpu *cpu, const struct core_set *cores, unsigned request, const struct tlb_spaces *spaces);
/* The same for one core. */
void remote_request_core(struct cpu *cpu, uint32_t core, unsigned request, const struct tlb_spaces *spaces);
/* For a reader. Has every core of the set flush the spaces in this core's `owed`, and waits for all. */
void remote_flush(struct cpu *cpu, const struct core_set *cores);
/* Serves the request to this core, if there is one. Caller must not hold the lock; interrupts are off. */
void remote_serve(struct cpu *cpu);
