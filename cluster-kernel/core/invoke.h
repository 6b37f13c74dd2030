/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

struct cpu;
struct slot;

/*
 * Invokes an object from a reader's entry: maps, unmaps or protects a frame that is in a mapping domain. Returns
 * KERNEL_EXCLUSIVE for everything else, and where this needs the writer.
 */
uint64_t invoke_as_reader(struct cpu *cpu, struct slot *slot, uint64_t info);
/* CALL on an object that is not an endpoint, from an exclusive entry: 0 or an error. */
uint64_t invoke_as_writer(struct cpu *cpu, struct slot *slot, uint64_t info);
