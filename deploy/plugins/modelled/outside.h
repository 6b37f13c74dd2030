/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What QEMU does beside executing instructions, in modelled time: its clocks, the guest's time-stamp counter, and how its
 * threads wait. QEMU's event loop, which executes the timers of all devices, polls files until the next timer is due;
 * a core that halts waits on a condition. Both become turns of the agenda (baton.h). preload.c calls this.
 */
#pragma once

#include "prices.h"

/*
 * In the thread of QEMU's event loop, before there are threads of cores. Returns NULL, or what is wrong. `open` is called
 * once, when the threads of all `cores` are there and wait.
 */
const char *outside_take(const struct machine *machine, unsigned cores, void (*open)(void));
/* The core's thread has begun to execute: it waits for nobody. */
void outside_arrived(unsigned core);
