/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that leaves this kernel and comes to it (skerry/memory_control.h).
 *
 * Memory may leave as an untyped that has no children and no parent: then no other capability of this cluster covers a
 * byte of it. One kernel entry does all of this, in order: removes the capability, takes the memory out of the direct
 * map, has all cores flush their TLBs, and marks the memory parked.
 *
 * Memory that comes must be parked, must have been free memory of some cluster at boot (a table that no kernel can
 * write says so), and must not be in this kernel's direct map yet. Its word changes first; then the direct map and the
 * capability follow. It still holds the former owner's data: retype zeroes it before user level sees any of it.
 */
#pragma once

#include <stdint.h>

struct cpu;
struct slot;

/* Invokes MEMORY_GIVE or MEMORY_TAKE of the cluster control object. Caller has checked that the label is one of
 * them. */
uint64_t invoke_memory_control(struct cpu *cpu, const struct slot *slot, uint64_t info);
