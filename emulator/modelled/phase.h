/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Before and after the measured interval the guest is executed functionally: instructions have their prices, and cores
 * go in the order of their clocks within FUNCTIONAL_QUANTUM, but memory accesses cost nothing and leave no line in a
 * cache. A mark of the guest begins the priced phase, and another may end it. At its first begin all L1s, L2s and TLBs
 * are empty, and the L3s are warm (memory_warm).
 *
 * The phases differ in their translations. Between two, QEMU flushes all translated code.
 */
#pragma once

#include "../qemu_plugin.h"
#include "prices.h"

/* Whoever waits with PAUSE lets all others go ahead. */
enum { FUNCTIONAL_QUANTUM = 20000 * UNIT, FUNCTIONAL_PAUSE = 2 * FUNCTIONAL_QUANTUM };

/* Reads "FROM" or "FROM-TO", the marks that begin and end the priced phase. Without a call all is priced. False if it
 * is neither. */
bool phase_take(const char *text);
/* Registers the plugin's callbacks, now and at each change of phase. */
void phase_install(plugin_id id, plugin_vcpu_fn init, plugin_translate_fn translate);
/* Returns whether what is translated now is priced. */
bool phase_priced(void);
/* The calling core has executed the mark. Returns whether another phase begins once all cores have left their
 * blocks. */
bool phase_mark(unsigned number);
