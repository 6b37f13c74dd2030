/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cpu;

/*
 * The current thread cannot go on: its fault endpoint is called, or it stops. `words` as
 * enum skerry_fault says. False: it is going to stop, and that needs the kernel
 * for itself; nothing was done.
 */
bool fault_raise(struct cpu *cpu, unsigned fault, unsigned count, const uint64_t *words);
