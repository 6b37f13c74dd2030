/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the loader's lines go, and which serial ports and rows of the screen the clusters get. */
#pragma once

#include "machine.h"
#include "options.h"

/*
 * Before anything is known of the machine: COM1, if it answers. What is said
 * until console_choose() is repeated where that finds another console. `m` and
 * `o` are what it will go by, or panic() before it, with what they hold then.
 */
void console_early(const struct machine *m, const struct options *o);
/* Chooses the console of the command line, else the firmware's (SPCR), else COM1 and COM2; and the screen, if there is
 * one. */
void console_choose(void);
/* Console, results and the rows for cluster `index` of `count`, which begin below the loader's last line. */
void console_share(struct boot_info *info, uint32_t index, uint32_t count);
/* No line may be on its way when a kernel takes the port over. */
void console_leave(void);
