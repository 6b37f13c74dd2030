/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "arch.h"
#include "cpu.h"

/*
 * Handles a fault of `thread`: calls its fault endpoint, or stops it. `words` are as enum skerry_fault says. Returns
 * false, with nothing done, if the entry must be exclusive: the thread is to stop, or its fault endpoint is away.
 */
bool fault_raise(struct cpu *cpu, struct thread *thread, unsigned fault, unsigned count, const uint64_t *words);

/* Prints how many faults were not reported. Called when the core's timer is due for it, by an exclusive entry. */
static inline bool faults_due(const struct cpu *cpu)
{
	return cpu->own.report_at && cpu->own.report_at <= arch_time();
}
void faults_timer(struct cpu *cpu);
/* This core reports what `leaving`, which leaves the kernel, would have reported. Caller's entry is exclusive. */
void faults_take_over(struct cpu *cpu, const struct cpu *leaving);
