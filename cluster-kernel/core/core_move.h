/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores that leave this kernel and join it (skerry/core_control.h).
 *
 * A core may leave when nothing can make it run a thread any more: it idles, no thread is placed on it (kernel->placed),
 * no deadline, interrupt or doorbell is its own. Its bit in kernel->cores is cleared, so that nothing of that is given to
 * it again; then it is asked to leave (REQUEST_LEAVE). It unloads the address space that it still has, and goes to the
 * loader at the end of the entry that it was interrupted in, without the lock, and with the lock's state as after any entry.
 * Once it has answered no address space counts on it (active_mask), so no shootdown waits for it.
 *
 * A core that joins finds its struct cpu as it left it, idle, or as boot made it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cpu;
struct kernel;
struct slot;

/* CORE_READ, CORE_LEAVE and CORE_TAKE of the cluster control object; caller has checked that the label is one of them. */
uint64_t invoke_core_control(struct cpu *cpu, const struct slot *slot, uint64_t info);
/* Whether it is another cluster of the machine that may be started again. */
bool is_neighbour(const struct kernel *kernel, uint64_t cluster);
/* This core leaves, as it was asked to: the part that is the same on every machine, before arch_leave_kernel(). */
void core_forget(struct cpu *cpu);
/* A core that was taken enters this kernel. False: its cluster is fenced, it is to return to the loader. */
bool core_arrive(struct cpu *cpu);
