/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

struct cpu;
struct slot;

/*
 * For an entry that runs beside others, on a frame: maps, unmaps or protects it, if it is in a mapping domain.
 * KERNEL_EXCLUSIVE: anything else, or what takes more.
 */
uint64_t invoke_as_reader(struct cpu *cpu, struct slot *slot, uint64_t info);
/* CALL on an object that is not an endpoint: 0 or an error. */
uint64_t invoke(struct cpu *cpu, struct slot *slot, uint64_t info);
