/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XSAVE and XRSTOR of the kernel. QEMU makes each from some 90 accesses, and to report one takes longer than to model
 * it. So these are made here, in one callback: the accesses that QEMU would report, in its order. The clocks are the
 * same.
 */
#pragma once

#include "../qemu_plugin.h"
#include "decode.h"

/* Watches the instruction, which has IS_SAVE or IS_RESTORE. False if its accesses are to be watched one by one. */
bool area_watch(struct qemu_plugin_insn *instruction, const struct decoded *d);
