/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that moves from one cluster to another (skerry/memory_control.h). The order comes from outside the machine, in
 * the kernel's ledger, to the manager of the cluster that has the memory. The manager of the cluster that it is for
 * finds it parked, and takes it; so does that cluster's next life. What a cluster that lives does not take, the giver
 * takes back.
 */
#pragma once

/* Takes what a former life of this cluster had, beyond what it had at boot. Once, before programs start. */
void memory_moves_begin(void);
/* At every tick of the timer, from the main thread. */
void memory_moves_tick(void);
