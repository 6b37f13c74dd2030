/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each core's sign of life in the cluster's ledger (skerry/ledger.h), from its timer's interrupt, also where it idles.
 *
 * It costs other entries nothing: the timer is always set, for the beat where for nothing sooner, so schedule() need not
 * know. A core that waits for the kernel's lock with interrupts off does not beat; a core that beats needs no lock.
 */
#pragma once

#include "cpu.h"

/* All cores of a new kernel; before they enter. No beats where the loader gave no ledger. */
void beats_init(struct kernel *kernel);
/* When the timer has fired, before the kernel is entered. Obeys an order of the ledger. */
void beat(struct cpu *cpu);
/* Before the kernel is left: sets the timer for the next beat, where schedule() has set it for nothing. */
void beat_arm(struct cpu *cpu);
