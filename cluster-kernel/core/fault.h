/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "arch.h"
#include "cpu.h"

/*
 * `thread` cannot go on: its fault endpoint is called, or it stops. `words` as
 * enum skerry_fault says. False: it is going to stop, or its
 * fault endpoint is away, and that needs the kernel for itself; nothing was done.
 */
bool fault_raise(struct cpu *cpu, struct thread *thread, unsigned fault, unsigned count, const uint64_t *words);

/* The core's timer, when that is due, with the kernel for itself: prints how many faults were not reported. */
static inline bool faults_due(const struct cpu *cpu)
{
	return cpu->own.report_at && cpu->own.report_at <= arch_time();
}
void faults_timer(struct cpu *cpu);
