/* SPDX-License-Identifier: BSD-2-Clause */
/* The object by which a manager fences another cluster and has it started again (skerry/cluster_control.h). */
#pragma once

#include "cap.h"

uint64_t invoke_cluster_control(struct cpu *cpu, struct slot *slot, uint64_t info);
