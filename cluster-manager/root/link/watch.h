/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watches the ledgers of the other clusters of this machine (skerry/ledger.h), and decides when one is lost and why. It
 * only reports: the channel to the cluster goes down, and the mailbox gets MAIL_PEER_LOST.
 *
 * Silence is counted in ticks of our own timer and in time, as for a channel's
 * heartbeat: where an emulator runs the cores in turn, or a host runs none of
 * them, time alone may pass while the other cluster has had none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WATCH_CORE_MS = 3000,    /* without a beat of a core */
	WATCH_TIMER_MS = 3000,   /* without a tick of a manager's timer */
	WATCH_WORDS_MS = 500,    /* from last words to our report of them, unless their author has ended its own */
	WATCH_MANAGER_MS = 5000, /* without a pass of a manager's main loop, which loads programs */
};

enum watch_reason {
	WATCH_ALIVE,
	WATCH_PANIC,   /* last words of its kernel */
	WATCH_STOPPED, /* none of its cores beats */
	WATCH_CORE,    /* some do not */
	WATCH_TIMER,   /* cores beat, the manager's timer thread stands still */
	WATCH_MANAGER, /* the manager's main loop does */
};

struct watch_verdict {
	enum watch_reason reason;
	uint32_t core;       /* index in its cluster of the first one concerned; WATCH_NO_CORE: none */
	uint32_t silent_ms;  /* by our clock; 0 where it spoke */
	char text[144];
};
enum { WATCH_NO_CORE = 0xffffffff };

/* Before the timer thread exists. */
void watch_init(void);
/* From the timer thread: no system call but the time. */
void watch_tick(void);
/* From the main thread: passes on what watch_tick() has concluded. */
void watch_report(void);
/* Null while the cluster is not known to be lost, or cannot be seen. */
const struct watch_verdict *watch_verdict(uint32_t cluster);
/*
 * From the main thread: lives of a cluster (skerry/cluster_control.h). What its ledger says of that is a hint: which life
 * is watched, and talked to, the control word decides.
 */
uint32_t watch_life(uint32_t cluster);
/* Watches this life from the next tick on. */
void watch_again(uint32_t cluster, uint32_t life);
/* Whether the ledger shows the life that is watched, and its manager's loop going round. */
bool watch_is_back(uint32_t cluster);
/* Whether the ledger shows another one. */
bool watch_is_another(uint32_t cluster);
/* "panic" and so on, as the run's events have it. */
const char *watch_reason_name(enum watch_reason reason);
