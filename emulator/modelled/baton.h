/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets one of QEMU's threads run at a time, as the agenda says: a core's, or that of the event loop (EVENTS). The one
 * that runs has the baton. A thread joins as the one that it plays, and calls these functions for itself. Cores'
 * threads are fibers (fiber.h).
 */
#pragma once

#include "agenda.h"

struct baton {
	uint64_t handed; /* times that another went on */
	uint64_t late;   /* times that a core went ahead without it,
	         because the holder slept: it waits for something that
	                    only this core can do, in a way that outside.c does not know */
};
extern struct baton baton;
extern struct agenda agenda;

/* The part that the calling thread plays; NOBODY if it plays no part. */
int baton_self(void);
void baton_join(unsigned party);
/* All have joined; the event loop has the baton. Until then nobody waits. */
void baton_open(void);
bool baton_is_open(void);

/* The core has reached its limit: hands the baton on and returns when it is back. */
void baton_step(unsigned core);
/* While the core keeps the baton it goes on beyond its limit. It must have it, and may not wait for anybody. */
void baton_keep(unsigned core, bool keeps);
/* Returns when the caller has the baton. The event loop does it by itself (outside.c). */
void baton_await(unsigned core);
/* The caller will await its turn, which comes when somebody wakes it; the event loop's also when its moment comes. */
void baton_block(uint64_t until);
/* The caller wakes `party`, which blocks, or has spun. An interrupt from a core to a core takes `latency`. */
void baton_wake(unsigned party, uint64_t latency);
/* Something outside happened: the event loop wants a turn soon, which changes nobody's order. */
void baton_ask(void);
bool baton_events_turn(void);
/* Called when the event loop has got a turn, under a lock: it only may wake the thread. */
extern void (*baton_wake_events)(void);

/* The caller parks itself (agenda_park), and returns when it goes on. */
void baton_park(unsigned core, uint64_t period, uint64_t ahead, uint64_t most);
/*
 * The caller takes a line from `core`, which looks at it `ahead` after each begin of its loop. Were `core` not parked
 * it would find the line gone as soon as the caller has asked for it, and ask in turn: so that is when it is unparked.
 */
void baton_unpark(unsigned core, uint64_t ahead);
/* The moment that the caller, which plays a part, sees. */
uint64_t baton_clock(void);
