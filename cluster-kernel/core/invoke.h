/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

struct cpu;
struct slot;

/* CALL on an object that is not an endpoint: 0 or an error. */
uint64_t invoke(struct cpu *cpu, struct slot *slot, uint64_t info);
