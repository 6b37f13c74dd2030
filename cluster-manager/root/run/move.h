/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores that move from one cluster to another (skerry/core_control.h). The order comes from outside the machine, in the
 * kernel's ledger, to the manager of the cluster that has the core; the manager of the cluster that it is for finds the
 * core parked, and has its kernel take it. A core that nobody took, as its new cluster was lost, is found by that
 * cluster's next life, or by any cluster that gets an order to take it.
 */
#pragma once

#include <stdint.h>

/* Reports the core of a program that has started, if it is not the map's. */
void move_started(uint32_t application);
/* At every tick of the timer, from the main thread. */
void moves_tick(void);
