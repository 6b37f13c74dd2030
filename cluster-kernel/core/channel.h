/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbells of channels: notifications raised in another cluster (skerry/doorbell.h). */
#pragma once

#include "cap.h"

/* Makes the copy of a channel capability a doorbell capability. */
uint64_t channel_mint_doorbell(struct cap *cap, uint64_t number);
uint64_t invoke_channel(struct cpu *cpu, struct slot *slot, uint64_t info);
/* Clears the doorbell's route when the slot of its listener, which had CAP_LISTENER, has been emptied. */
void channel_unlisten(struct cpu *cpu, const struct slot *slot);
struct boot_cores;
struct channel_end;

/*
 * For a kernel that panics, which has no lock: rings every doorbell to which the peer listens, so that it looks at the
 * ledger at once. Adds the peer's cores that must be interrupted to the set.
 */
void doorbells_ring_all(const struct channel_end *end, struct boot_cores *cores);
/* Rings a doorbell: the peer's kernel signals the notification that is bound to it. */
void doorbell_ring(struct cpu *cpu, const struct cap *cap);
/* After an interrupt from another cluster: signals the notifications of rung doorbells within the entry's work
 * budget. */
void doorbell_receive(struct cpu *cpu);

/*
 * A kernel of another machine cannot interrupt this core, so a core that receives its doorbells polls.
 * doorbells_watch() arms the timer for that; if another core has bound the doorbell, at this core's next entry.
 * doorbells_due() returns whether it is time, and doorbells_poll() polls. A core whose last such doorbell another core
 * has bound polls no more, and may leave the kernel; those that poll look at its doorbells, too, for a peer may still
 * ring there (kernel->unpolled).
 */
void doorbells_watch(struct cpu *cpu);
bool doorbells_due(const struct cpu *cpu);
void doorbells_poll(struct cpu *cpu);
