/* SPDX-License-Identifier: BSD-2-Clause */
/* Invocations that set and tell which cores may touch an object; what then happens, visit.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cap;
struct cpu;
struct kernel;
struct slot;

/*
 * Sets the cores, as a cluster mask, that may touch the object of an endpoint, notification or reply capability. The caller
 * has the kernel for itself. False: none of them is of this kernel.
 */
bool locality_set(const struct kernel *kernel, const struct cap *cap, uint64_t mask);
/* CNODE_LOCALITY, CNODE_LOCALITY_OF. */
uint64_t invoke_locality(struct cpu *cpu, struct slot *node, uint64_t info);
