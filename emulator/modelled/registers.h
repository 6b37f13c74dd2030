/* SPDX-License-Identifier: BSD-2-Clause */
/* A core's registers, as QEMU has them in a callback with PLUGIN_READS_REGISTERS. Without the flags: QEMU has those of
 * an earlier instruction. */
#pragma once

#include "../qemu_plugin.h"
#include "prices.h"
#include "spin.h"

/* In the thread of a core: learns which registers QEMU has. Returns NULL, or what is wrong with this QEMU. */
const char *registers_take(void);
/* Returns a general register; `number` as instructions number them, below SPIN_GENERAL. */
uint64_t registers_general(unsigned core, unsigned number);
/* Stores XMM0 to XMM15 and ST0 to ST7. */
void registers_wide(unsigned core, uint64_t to[SPIN_WIDE]);
/* Returns 8 bytes of the core's memory, or 0 if nothing is there. */
uint64_t registers_memory(unsigned core, uint64_t address);
