/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory accesses of the guest, as QEMU reports them: callbacks that charge the core for them. */
#pragma once

#include "../qemu_plugin.h"
#include "event_queue.h"
#include "turn_token.h"
#include "memory.h"
#include "spin.h"

extern struct machine machine;
extern struct memory memory;

/* Returns whether the event queue has the core running: not before it is in the queue, nor when it goes ahead without
 * the token. */
static inline bool core_runs(const struct event_queue *queue, unsigned core)
{
	return queue->core[core].count && queue->core[core].state == RUNS;
}

/* A core that has passed its limit lets the others act first. What it does next it does when it precedes all others. */
static inline void let_others(unsigned core)
{
	if (event_turns.core[core].count->used >= LIMIT && core_runs(&event_turns, core))
		token_step(core);
}

enum { MOST_LOOKS = 8 };

/* A core's record of its accesses: the last one, its time spent waiting for memory, code included, and the lines that
 * it has accessed since its last PAUSE. */
struct looks {
	uint64_t last, waited;
	uint64_t from; /* clock at the PAUSE */
	unsigned did;  /* since then: SPIN_STORED and so on; of stores, those of programs */
	unsigned count; /* more than MOST_LOOKS: there were too many to be kept */
	struct look {
		uint64_t line, at;
	} look[MOST_LOOKS];
};
extern struct looks looks[MOST_CORES];
/* For memory.h: the core has lost the line, and goes on if it is parked in a loop that looks at it. */
void line_lost(unsigned core, uint64_t line, uint64_t when);

/* The core may find other memory at the addresses that it has accessed; `core` may be MOST_CORES: all may. */
void access_remapped(unsigned core, void *data);
/* While it is set an access of the kernel does not let others act: the function that sets it calls let_others()
 * afterwards. */
extern bool access_keeps_turn;

/* Accounts for `count` accesses of the kernel, `step` bytes apart, that QEMU does not report. The core is in the event
 * queue. */
void access_row(unsigned core, uint64_t first, unsigned count, unsigned step, bool store);

/* Callbacks of QEMU behind a load and behind a store. */
struct watch {
	plugin_memory_fn load, store;
};
extern const struct watch kernel_accesses, program_accesses;
extern const struct watch locked_accesses; /* their data: a struct locked */

/* Data of a locked instruction; lives as long as QEMU's translation. */
struct locked;
struct locked *locked_make(bool kernel);
/* Lets other cores act until the line of a locked instruction has arrived. */
void before_locked(unsigned core, void *locked);

/* The core waits until its stores are visible; if `flush` is not NULL its translations are forgotten. */
void drain_accesses(unsigned core, void *flush);
