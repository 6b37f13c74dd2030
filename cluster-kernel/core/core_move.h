/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores that leave this kernel and join it (skerry/core_control.h).
 *
 * A core may leave when nothing can make it run a thread any more: it idles, no thread is placed on it
 * (kernel->placed), and it has no deadline, interrupt or doorbell. The caller clears its bit in kernel->cores, so that
 * it gets none of these again, and asks it to leave (REQUEST_LEAVE). The core unloads its address space. At the end of
 * that entry, after releasing the lock as usual, it goes to the loader. Once it has answered, no active_mask has its
 * bit, so no shootdown waits for it.
 *
 * A core that joins finds its struct cpu as it left it, idle, or as boot made it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cpu;
struct kernel;
struct slot;

/*
 * Invokes CORE_READ, CORE_LEAVE or CORE_TAKE of the cluster control object. Caller has checked that the label is one of
 * them.
 */
uint64_t invoke_core_control(struct cpu *cpu, const struct slot *slot, uint64_t info);
/* Returns whether `cluster` is another cluster of this machine that may be started again. */
bool is_neighbour(const struct kernel *kernel, uint64_t cluster);
/* Makes this core leave, as it was asked to: the portable part, before arch_leave_kernel(). */
void core_forget(struct cpu *cpu);
/*
 * For a core that was taken and enters this kernel. Returns false if its cluster is fenced; the core must return to the
 * loader then.
 */
bool core_arrive(struct cpu *cpu);
