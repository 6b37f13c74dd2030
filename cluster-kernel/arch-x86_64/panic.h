/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of one cluster. The first core that panics reports, stops the other
 * cores of its cluster by NMI and halts; no other cluster is touched, and the
 * machine is not reset.
 */
#pragma once

#include <stdint.h>

struct context;

/*
 * Why a core of this cluster sends another an NMI. An NMI without a reason is another cluster's that fences this one
 * (fence.h), or else the machine's (SERR, a watchdog, a button) and ends the cluster with a report.
 */
enum nmi_reason {
	NMI_NONE,
	NMI_PARK, /* halt for good */
};

/* To core `core` of this cluster. The reason is not taken back: a core that has one ends by it. */
void nmi_send(unsigned core, uint32_t apic_id, enum nmi_reason reason);

extern uint32_t panic_cluster; /* the cluster that a panic names; set before any core can panic */

/* An exception in the kernel itself. */
_Noreturn void panic_exception(const struct context *frame);
