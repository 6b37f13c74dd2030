/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CNodes: arrays of slots, the nodes of a capability space. Slot 0 never holds a user's capability, since pointer 0 is
 * null everywhere. The kernel counts the CNode's capabilities there, and puts the zombie (zombie.h) there when the last
 * one is deleted.
 */
#pragma once

#include <stdint.h>
#include "thread.h"

/* Slot `index` of the CNode that `cap` names, null when out of range or 0. */
static inline struct slot *cnode_slot(const struct cap *cap, uint64_t index)
{
	kernel_assert(cap->type == OBJECT_CNODE && cap->object);
	return index && index < 1ull << cap->size_bits ? (struct slot *)cap->object + index : 0;
}

/* The slot a capability pointer names in the CSpace below `root`, null if it names none: level by level. */
struct slot *cspace_walk(const struct slot *root, uint64_t cptr);
/* The same in the thread's CSpace, which most often has one level. */
static inline struct slot *cspace_lookup(const struct thread *thread, uint64_t cptr)
{
	const struct slot *root = &thread->slot[THREAD_CSPACE];
	kernel_assert(!root->cap.limit || root->cap.limit == 1ull << root->cap.size_bits);
	if (cptr < root->cap.limit)
		return cptr ? (struct slot *)root->cap.object + cptr : 0;
	return cspace_walk(root, cptr);
}
uint64_t invoke_cnode(struct cpu *cpu, struct slot *slot, uint64_t info);
