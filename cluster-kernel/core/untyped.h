/* SPDX-License-Identifier: BSD-2-Clause */
/* Untyped memory: all that user level builds kernel objects from. */
#pragma once

#include <stdint.h>

struct cpu;
struct slot;

uint64_t invoke_untyped(struct cpu *cpu, struct slot *slot, uint64_t info);
