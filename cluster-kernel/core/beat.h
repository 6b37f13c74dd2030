/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each core's heartbeat in the cluster's ledger (skerry/ledger.h). The timer interrupt writes it, also on an idle core.
 *
 * The timer is always set, for the next beat if for nothing sooner, so schedule() need not know of beats and other
 * entries pay nothing. Beating takes no lock, but a core that waits for the kernel's lock has interrupts off and does
 * not beat.
 */
#pragma once

#include "cpu.h"

/* Prepares all cores of a new kernel, before they enter. Without a ledger from the loader no core beats. */
void beats_init(struct kernel *kernel);
/* Writes into the ledger, if there is one, which cores are here and beat. */
void beats_tell_cores(const struct kernel *kernel);
/* Counts a beat and obeys an order of the ledger. Called when the timer has fired, before kernel_enter(). */
void beat(struct cpu *cpu);
/* Sets the timer for the next beat if schedule() has set it for nothing. Called before the kernel is left. */
void beat_arm(struct cpu *cpu);
