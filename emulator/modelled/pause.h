/* SPDX-License-Identifier: BSD-2-Clause */
/* Cores that spin with PAUSE are parked (event_queue.h), where that is the same as spinning. */
#pragma once

#include <stdio.h>
#include "../qemu_plugin.h"

extern bool pause_parks; /* an option */

/* Watches the instruction, which is a PAUSE. */
void pause_watch(struct qemu_plugin_insn *instruction, bool kernel);
/* The core has read what changes by itself: the time, or a port. A loop that does so is not parked. */
void pause_looked(unsigned core, void *data);
/* A phase begins: what cores did in the one before was not seen. */
void pause_disturbed(void);
/* Returns the turns of programs' loops that were skipped and were not equal. It must be 0, else clocks are wrong. */
uint64_t pause_misparked(void);
/* When a core has the first such turn a line is written to `out`, beside those of marks. */
void pause_reports(FILE *out);
