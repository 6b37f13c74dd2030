/* SPDX-License-Identifier: BSD-2-Clause */
/* For regimes without transactions: nothing is ever rolled back, so this does nothing. */
#pragma once

struct cpu;

static inline void kernel_irrevocable(struct cpu *cpu) { (void)cpu; }
