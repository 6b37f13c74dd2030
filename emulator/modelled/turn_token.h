/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets one of QEMU's threads run at a time, in the order of the event queue: that of a core, or of the event loop
 * (EVENTS). The running thread holds the token. A thread joins as the party that it plays, and calls these functions
 * for itself. Cores' threads are fibers (fiber.h).
 */
#pragma once

#include <sys/types.h>
#include "event_queue.h"

struct turn_token {
	uint64_t handed; /* times that it changed hands */
	/* times that a core went ahead without it because the holder slept: it waits for something that only this core
	 * can do, in a way that virtual_time.c does not know */
	uint64_t late;
};
extern struct turn_token turn_token;
extern struct event_queue event_turns;

/* Returns the party that the calling thread plays; NOBODY if none. */
int token_self(void);
void token_join(unsigned party);
/* All have joined; the event loop has the token. Before that no thread waits. */
void token_open(void);
bool token_is_open(void);
/* A thread has another id, in a copy of the process (snapshot.h). */
void token_thread_moved(pid_t was, pid_t is);

/* The core has reached its limit: hands the token on and returns when it is back. */
void token_step(unsigned core);
/* While the core keeps the token it goes on beyond its limit. It must hold it, and may not block. */
void token_keep(unsigned core, bool keeps);
/* Returns when the caller has the token. The event loop does it by itself (virtual_time.c). */
void token_await(unsigned core);
/* The caller awaits its turn next. That comes with token_wake(); the event loop's also at `until`. */
void token_block(uint64_t until);
/* The caller wakes `party`, which blocks, or has spun. An interrupt from a core to a core takes `latency`. */
void token_wake(unsigned party, uint64_t latency);
/* Something outside happened: the event loop wants a turn soon, which changes no core's order. */
void token_ask(void);
bool token_events_turn(void);
/* Called when the event loop has got a turn, under a lock: it only may wake the thread. */
extern void (*token_wake_events)(void);

/* The caller parks itself (queue_park), and returns when it goes on. */
void token_park(unsigned core, uint64_t period, uint64_t ahead, uint64_t most);
/*
 * The caller takes a line from `core`, which looks at it `ahead` after each begin of its loop. Were `core` not parked
 * it would find the line gone as soon as the caller has asked for it, and ask in turn: so that is when it is unparked.
 */
void token_unpark(unsigned core, uint64_t ahead);
/* The moment that the caller, which plays a part, sees. */
uint64_t token_clock(void);
