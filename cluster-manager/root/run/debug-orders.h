/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Carries out the orders that a debugger outside the machine writes to the kernel's ledger (skerry/ledger.h): crashes
 * that other clusters must notice, and the kernel's granularity, which the cluster map may order, too.
 */
#pragma once

/* Sets the kernel to the granularity that the cluster map says. Called once, before programs are started. */
void debug_orders_apply_map(void);

/* Polls the ledger for orders. Called at every tick of the timer, from the main thread. */
void debug_orders_tick(void);
