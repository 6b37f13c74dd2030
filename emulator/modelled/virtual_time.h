/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QEMU's virtual time on the modelled machine: its clocks, the guest's time-stamp counter, and how its threads wait.
 * QEMU's event loop, which executes the timers of all devices, polls files until the next timer is due; a core that
 * halts waits on a condition. Both become turns in the event queue (turn_token.h). preload.c calls this.
 */
#pragma once

#include <stdbool.h>
#include "prices.h"

/*
 * In the thread of QEMU's event loop, before there are threads of cores. Returns NULL, or what is wrong. `open` is
 * called once, when the threads of all `cores` are there and wait. `traps`: reads of the time-stamp counter are trapped
 * (trap.h), also if this QEMU's answer can be set (ticks.h).
 */
const char *virtual_time_take(const struct machine *machine, unsigned cores, bool traps, void (*open)(void));
/* The core, which runs, reads the time-stamp counter next. */
void virtual_time_counter(unsigned core);
/* Returns whether its answer is set, and not trapped. */
bool virtual_time_sets_counter(void);
/* The core's thread has begun to execute: it does not wait. */
void virtual_time_arrived(unsigned core);
