/* SPDX-License-Identifier: BSD-2-Clause */
/* For debug images alone: entry.S hands the core to everything else. */
#include "arch.h"
#include "core_local.h"

struct cpu *arch_this_cpu(void) { return this_core()->cpu; }
