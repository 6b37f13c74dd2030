/* SPDX-License-Identifier: BSD-2-Clause */
/* Invocations that set and return which cores may touch an object (visit.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cap;
struct cpu;
struct kernel;
struct slot;

/*
 * Sets the cores, as a cluster mask, that may touch the object of an endpoint, notification or reply capability. The
 * caller has the kernel for itself. False: none of them is of this kernel, or the first, its home, is not here
 * (core_move.h); or it is a single core that no mask names alone.
 */
bool locality_set(struct kernel *kernel, const struct cap *cap, uint64_t mask);
/* The object is destroyed. */
void locality_forget(struct kernel *kernel, const struct cap *cap);
/* CNODE_LOCALITY, CNODE_LOCALITY_OF. */
uint64_t invoke_locality(struct cpu *cpu, struct slot *node, uint64_t info);
