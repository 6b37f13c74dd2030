/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that leaves this kernel and comes to it (skerry/memory_control.h).
 *
 * Memory may leave as an untyped that nothing is made of, and that is itself made of nothing: then no capability of this
 * cluster is to any byte of it, and no untyped can be retyped there. It is taken out of the direct map, all cores flush
 * their TLBs, and the capability is removed; only then do the words say that it is parked. All that is one kernel entry.
 *
 * Memory that comes must be parked, must have been some cluster's free memory at boot, by a table that no kernel can write,
 * and must not be in this kernel's own direct map. The word changes first; then the direct map and the capability follow.
 * Its content is the former owner's: retype zeroes it before user level sees any of it.
 */
#pragma once

#include <stdint.h>

struct cpu;
struct slot;

/* MEMORY_GIVE and MEMORY_TAKE of the cluster control object; caller has checked that the label is one of them. */
uint64_t invoke_memory_control(struct cpu *cpu, const struct slot *slot, uint64_t info);
