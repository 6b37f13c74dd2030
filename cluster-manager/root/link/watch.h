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
#include "root.h"

enum {
	/* for a panicking kernel to print its report, before another cluster prints, or fences it */
	WATCH_WORDS_MS = 500,
};

/* Without a beat of a core, or a tick of a manager's timer. */
static inline uint32_t watch_core_ms(void) { return ROOT->patience_ms; }
/* Without a pass of a manager's main loop, which loads programs. */
static inline uint32_t watch_manager_ms(void) { return ROOT->patience_ms * 5 / 3; }

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
	uint32_t silent_ms;  /* by our clock; of last words: since they were said */
	char text[144];
};
enum { WATCH_NO_CORE = 0xffffffff };

/* Before the timer thread exists. */
void watch_init(void);
/* From the timer thread: no system call but the time. */
void watch_tick(void);
/* From the main thread: passes on what watch_tick() has concluded. */
void watch_report(void);
/* Returns whether a kernel has said last words that watch_tick() has not seen yet. */
bool watch_words_are_said(void);
/* Returns whether a panicking kernel prints its report, on the console that this cluster prints on, too: for
 * WATCH_WORDS_MS at most. */
bool watch_console_is_taken(void);
/* Null while the cluster is not known to be lost, or cannot be seen. */
const struct watch_verdict *watch_verdict(uint32_t cluster);
/*
 * From the main thread: lives of a cluster (skerry/cluster_control.h). What its ledger says of that is a hint: which
 * life is watched, and talked to, the control word decides.
 */
uint32_t watch_life(uint32_t cluster);
/* Watches this life from the next tick on. */
void watch_again(uint32_t cluster, uint32_t life);
/* Returns whether the ledger shows the life that is watched, and its manager's loop going round. */
bool watch_is_back(uint32_t cluster);
/* Returns whether the ledger shows another one. */
bool watch_is_another(uint32_t cluster);
/* "panic" and so on, as the run's events have it. */
const char *watch_reason_name(enum watch_reason reason);
