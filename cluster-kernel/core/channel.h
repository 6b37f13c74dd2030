/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbells of channels: notifications raised in another cluster (skerry/doorbell.h). */
#pragma once

#include "cap.h"

/* Makes the copy of a channel capability a doorbell capability. */
uint64_t channel_mint_doorbell(struct cap *cap, uint64_t number);
uint64_t invoke_channel(struct cpu *cpu, struct slot *slot, uint64_t info);
/* The doorbell's far end is to be signalled. */
void doorbell_ring(struct cpu *cpu, const struct cap *cap);
/* This core was interrupted from another cluster: signals what was rung, as much as the entry's quantum allows. */
void doorbell_heard(struct cpu *cpu);

/*
 * Kernels of other machines cannot interrupt this core: where it listens to any,
 * its timer makes it look. A core that was told so by another begins at its next entry.
 */
void doorbells_watch(struct cpu *cpu);
bool doorbells_due(const struct cpu *cpu);
void doorbells_look(struct cpu *cpu);
