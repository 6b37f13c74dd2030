/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CNodes that nobody can name any more, but whose content is still to be
 * deleted. Their last capability becomes a zombie in their own slot 0. It keeps
 * its place in the derivation tree, so that the memory stays taken, and stands
 * in the list kernel->doomed, to which CNodes found on the way are added:
 * however they are nested, no stack is needed.
 */
#pragma once

#include <stdbool.h>
#include "arch.h"
#include "kernel.h"

/* `slot` holds the last capability of a CNode; it is empty then. */
void zombie_make(struct kernel *kernel, struct slot *slot);
/* Deletes what the doomed CNodes hold, then the zombies; false when the quantum is over first. */
bool zombies_bury(struct cpu *cpu);

/*
 * Who dooms CNodes buries them, if it can: it may have been among the dead, or
 * have lost the capability with which to make its call again. So a system call
 * that leaves any behind has its core look after them some time later.
 */
void zombies_watch_from(struct cpu *cpu, uint64_t now);
static inline void zombies_watch(struct cpu *cpu)
{
	if (__builtin_expect(kernel_of(cpu)->doomed != 0, 0))
		zombies_watch_from(cpu, arch_time());
}
static inline bool zombies_due(const struct cpu *cpu)
{
	return cpu->own.bury_at && cpu->own.bury_at <= arch_time();
}
/* The core's timer, when that is due: goes on where nobody does, a quantum at a time. */
void zombies_timer(struct cpu *cpu);
