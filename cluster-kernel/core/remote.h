/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a core asks of others of its cluster at once: to leave a thread and its
 * address space that are about to be destroyed, or to flush their TLB.
 *
 * The asking core holds the lock and waits. A core that runs user code, or
 * idles, is interrupted and serves before it contends for the lock; a core that
 * waits for the lock serves from its waiting loop (kernel_relax).
 */
#pragma once

#include <stdint.h>

struct cpu;
struct vspace;

/*
 * Serves `request` (enum cpu_request) on every core of the mask and waits for all; on this one, too, but for STALL.
 * LEAVE and FLUSH are about the address space `vspace`.
 */
void remote_request(struct cpu *cpu, uint64_t cores, unsigned request, struct vspace *vspace);
/* Does what others have asked of this core. Called without the lock, interrupts off. */
void remote_serve(struct cpu *cpu);
