/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CNodes: arrays of slots, the nodes of a capability space. Slot 0 is never
 * used for a capability (pointer 0 is null everywhere); the kernel counts the
 * CNode's capabilities there, and a zombie (zombie.h) stands there at its end.
 */
#pragma once

#include <stdint.h>
#include "cap.h"

struct thread;

/* The slot a capability pointer names in the thread's CSpace, null if it names none. */
struct slot *cspace_lookup(const struct thread *thread, uint64_t cptr);
/* Slot `index` of the CNode that `cap` names, null when out of range or 0. */
struct slot *cnode_slot(const struct cap *cap, uint64_t index);
uint64_t invoke_cnode(struct cpu *cpu, struct slot *slot, uint64_t info);
