/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a debugger outside the machine orders of a manager, in its kernel's ledger (skerry/ledger.h): ends that others
 * must notice, and the kernel's granularity, which the cluster map may order, too.
 */
#pragma once

/* Once, before programs are started: has the kernel take the granularity that the cluster map says. */
void obey_map(void);

/* At every tick of the timer, from the main thread. */
void obey_tick(void);
