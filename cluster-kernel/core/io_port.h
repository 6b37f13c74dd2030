/* SPDX-License-Identifier: BSD-2-Clause */
/* I/O port ranges: the badge holds first | last << 16. */
#pragma once

#include "cap.h"

/* Narrows `cap` to the range in `badge`, which must lie inside its own. */
uint64_t io_port_narrow(struct cap *cap, uint64_t badge);
uint64_t invoke_io_port(struct cpu *cpu, struct slot *slot, uint64_t info);
