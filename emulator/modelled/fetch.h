/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instruction fetches: for each line that a block's instructions are in the core is charged if its L1I does not have it
 * (memory_fetch). Code that QEMU generates looks at the core's slot of the line first, and calls only if the slot has
 * another line; L1I's order of replacement does not depend on hits, so that it does not matter which of them are seen.
 */
#pragma once

#include "../qemu_plugin.h"

/* Returns NULL, or what is wrong with this QEMU. */
const char *fetch_take(void);
/* Where in memory a page is; the thread is a core's, and the address one of its. False if there is none. */
bool fetch_page(uint64_t page, uint64_t *physical);
/* Watches the fetches of the block that is being translated; `slots`: the first of CODE_SLOTS (memory.h) in the
 * scoreboard. */
void fetch_watch(const struct qemu_plugin_tb *block, size_t count, qemu_plugin_u64 slots);
