/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event queue: the cores' clocks, and the order of cores, by clock, then by number. With a quantum of 0 a core acts
 * only while no other core that runs precedes it in that order. No core gets more than `quantum` ahead of another that
 * runs; programs, which share nothing but through the kernel, may get `program_quantum` ahead.
 *
 * A clock advances inline, in code that QEMU generates: `used` grows with each instruction, and a core calls back
 * (turn_token.c) once `used` reaches LIMIT. So `used` is kept that far below LIMIT as the core may go, and the clock is
 * base + used - from.
 *
 * A core that was halted and to which another sent an interrupt is expected: it has its turn from the moment at which
 * the interrupt arrives, and the others wait for it however late the host lets its thread go on.
 *
 * QEMU's event loop, which executes timers, has turns as a core has: at the moment of its next timer, and when a core
 * has changed something that it waits for.
 *
 * A core that waits in a loop with PAUSE is parked until a line that its loop reads is taken: its loop has a period,
 * and it goes on with the turn in which it would have found that line gone, so that the outcome is that of spinning.
 *
 * The caller holds the token's lock where cores are threads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/require.h>
#include "prices.h"

#define LIMIT (1ull << 40)

#define NEVER UINT64_MAX

enum { NOBODY = -1, EVENTS = MOST_CORES }; /* takes turns with the cores: QEMU's event loop */
enum run_state { ABSENT, RUNS, HALTED, EXPECTED, PARKED };

/* In QEMU's scoreboard: code that it generates adds to it. */
struct count {
	uint64_t used, instructions;
};

struct runner {
	enum run_state state;
	struct count *count;
	uint64_t base, from;
	uint64_t idle;   /* of the clock: passed while it was halted */
	uint64_t since;  /* EXPECTED: its clock when it halted; `resumes`: when it was parked */
	/* it was parked, and has not had a turn since; a line may still be taken from it at an earlier moment */
	bool resumes;
	uint64_t period; /* PARKED: of its loop; not 0 */
	uint64_t ahead;  /* PARKED: from where it is parked to where its loop looks at memory */
	uint64_t most;   /* PARKED: it looks again after so long, whatever happens */
};

struct event_queue {
	struct runner core[MOST_CORES];
	/* A tree of places in the order: of a core its clock and its number in one, or NEVER if it has no turns, behind
	 * `leaves`; before that the lesser of two, place[1] the least of all. */
	uint64_t place[2 * MOST_CORES];
	unsigned leaves; /* a power of two, of as many cores or more; 0: there are none yet */
	unsigned count;  /* cores that there are */
	/* core that runs: its clock advances by itself, so its place has to be computed again; NOBODY: none */
	int running;
	uint64_t timeout;           /* clock up to which no parked core has waited for its `most` */
	uint64_t quantum;
	uint64_t events;       /* next turn of the event loop, or NEVER */
	uint64_t events_clock; /* of its last turn */
	bool started;          /* the machine runs; until then no time passes, whatever timers QEMU has */
};

static inline uint64_t clock_of(const struct runner *core) { return core->base + core->count->used - core->from; }
/* The core's clock advances. */
static inline void core_charge(struct runner *core, uint64_t cost)
{
	require(core->count && cost <= NEVER - core->count->used);
	core->count->used += cost;
}

/* The place of the core that is running, or of one that goes ahead by mistake, is where its clock is now. */
void queue_moved(struct event_queue *queue, unsigned core);
/* The clock from which on `core` may not act before `other` has, but for the quantum. */
uint64_t queue_until(const struct event_queue *queue, unsigned core, unsigned other);
/* The core calls back when its clock reaches `limit`, or has passed it. */
void queue_limit(struct runner *core, uint64_t limit);
/*
 * Returns the next party: a core, which then runs, and *limit is where it must stop; EVENTS, with `events_clock` at its
 * turn; or NOBODY. Unparks cores that have waited long enough.
 */
int queue_next(struct event_queue *queue, uint64_t *limit);
/* The core is there, halted, its clock at 0. */
void queue_add(struct event_queue *queue, unsigned core, struct count *count);
void queue_halt(struct event_queue *queue, unsigned core);
/* An interrupt arrives at the core at `when`. Returns whether it is expected from then on; not if it runs, or comes
 * earlier. */
bool queue_expect(struct event_queue *queue, unsigned core, uint64_t when);
/* The core waits in a loop of `period`, and looks at memory up to `ahead` later. */
void queue_park(struct event_queue *queue, unsigned core, uint64_t period, uint64_t ahead, uint64_t most);
static inline bool queue_waits(const struct event_queue *queue, unsigned core)
{
	return queue->core[core].state == PARKED || queue->core[core].resumes;
}
/*
 * A line is taken at `when` at which the core's loop looks `ahead` after its begin: if the core is parked it runs from
 * the first turn on in which it looks then or later.
 */
void queue_unpark(struct event_queue *queue, unsigned core, uint64_t when, uint64_t ahead);
/* Returns the minimum clock of the runnable cores; if none is runnable, the clock of the last that ran. */
uint64_t queue_now(struct event_queue *queue);
