/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a kernel counts, one record per core, readable by user level through
 * the frames whose addresses root_info gives. All times are TSC cycles, all
 * counters start at 0 when the core starts and only grow. Fields written by
 * "+stat" images only are marked; a plain image leaves them 0.
 *
 * A reader on another core sees each field whole but not all of one moment.
 */
#pragma once

#include <stdint.h>

struct core_stat {
	uint64_t idle_cycles;  /* in the idle thread, up to `updated` */
	uint64_t started;      /* TSC when the core entered user level or idle first */
	uint64_t updated;      /* TSC when idle_cycles was last brought up to date */
	uint64_t idle_since;   /* TSC since when the core idles; 0 when it does not */
	uint64_t entries;      /* +stat: kernel entries of every kind */
	uint64_t syscalls;     /* +stat */
	uint64_t interrupts;   /* +stat: device, timer, doorbell and inter-core interrupts */
	uint64_t faults;       /* +stat */
	uint64_t lock_grabs;     /* +stat: big lock taken */
	uint64_t lock_conflicts; /* +stat: of these, not free at once */
	uint64_t lock_spins;     /* +stat: turns of the waiting loop */
	uint64_t lock_wait;      /* +stat: cycles from wanting the lock to having it */
	uint64_t lock_wait_max;  /* +stat */
	uint64_t lock_hold;      /* +stat: cycles with the lock held */
	uint64_t lock_hold_max;  /* +stat */
	uint64_t switches;       /* +stat: thread switches */
};

_Static_assert(sizeof(struct core_stat) == 128, "two cache lines");
enum { STAT_PAGE_CORES = 4096 / 128 };
