/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CNodes that no capability names any more, but whose content is still to be deleted. Their last capability becomes a
 * zombie in their own slot 0. It keeps its place in the derivation tree, so the memory stays in use, and is in the list
 * kernel->reap_list. CNodes found during deletion are added to that list, so nested CNodes need no recursion.
 */
#pragma once

#include <stdbool.h>
#include "arch.h"
#include "kernel.h"

/* Makes the last capability of a CNode, which `slot` holds, a zombie; `slot` is empty afterwards. */
void zombie_make(struct kernel *kernel, struct slot *slot);
/* Deletes what the CNodes of the reap list hold, then the zombies; false when the budget is spent first. */
bool zombies_reap(struct cpu *cpu);

/*
 * The deleting thread empties the reap list before its system call ends, unless
 * it was itself deleted or lost the capability with which to make its call
 * again. So a system call that leaves zombies behind sets its core's cleanup
 * deadline: the timer then goes on with the list.
 */
void zombies_watch_from(struct cpu *cpu, uint64_t now);
static inline void zombies_watch(struct cpu *cpu)
{
	if (__builtin_expect(kernel_of(cpu)->reap_list != 0, 0))
		zombies_watch_from(cpu, arch_time());
}
static inline bool zombies_due(const struct cpu *cpu)
{
	return cpu->own.cleanup_at && cpu->own.cleanup_at <= arch_time();
}
/* Continues the reap list, a budget at a time. Called when the core's cleanup deadline has passed. */
void zombies_timer(struct cpu *cpu);
