/* SPDX-License-Identifier: BSD-2-Clause */
/* Of the regimes that always hold their lock: whatever is done can stay done. */
#pragma once

struct cpu;

static inline void kernel_irrevocable(struct cpu *cpu) { (void)cpu; }
