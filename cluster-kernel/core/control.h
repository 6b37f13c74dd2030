/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings of the kernel as a whole. */
#pragma once

#include <stdint.h>

struct cpu;
struct slot;

uint64_t invoke_control(struct cpu *cpu, struct slot *slot, uint64_t info);
