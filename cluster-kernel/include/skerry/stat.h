/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a kernel counts, one record per core, readable by user level through
 * the frames whose addresses root_info gives. All times are TSC cycles, all
 * counters start at 0 when the core starts and only grow. Fields written by
 * "+stat" images only are marked; a plain image leaves them 0.
 *
 * Only the core itself writes its record. A reader on another core sees each
 * field whole but not all of one moment.
 */
#pragma once

#include <stdint.h>

/* What a lock guards. A kernel has locks of those classes that its regime has. */
enum lock_class {
	LOCK_CLASS_KERNEL,       /* the big lock; rtm: taken in fallbacks only */
	LOCK_CLASS_READ,         /* the kernel's reader/writer lock, held to read */
	LOCK_CLASS_WRITE,        /* the same, held to write */
	LOCK_CLASS_TCB, /* of reply objects, too: one stands for the thread it holds */
	LOCK_CLASS_ENDPOINT,
	LOCK_CLASS_NOTIFICATION,
	LOCK_CLASS_RUN_QUEUE,
	LOCK_CLASSES,
};

/* Why a transaction failed: the first of these whose bit the processor's abort status has. */
enum abort_cause {
	ABORT_EXPLICIT, /* XABORT: the lock was held, or what came next cannot be taken back */
	ABORT_CAPACITY, /* more lines than the cache can hold back */
	ABORT_CONFLICT, /* another core wrote what was read, or read what was written */
	ABORT_DEBUG,    /* breakpoint */
	ABORT_NESTED,
	ABORT_RETRY,    /* no cause, but it may succeed another time */
	ABORT_OTHER,    /* no bit at all: an interrupt, a page fault, an instruction that aborts */
	ABORT_CAUSES,
};

/* Bucket i counts times of 2^i cycles and more, but less than 2^(i+1); the first has 0, too, the last all longer ones. */
enum { STAT_BUCKETS = 28 };

/* All locks of a class. Wait is from wanting a lock to having it, hold from having it to giving it up. */
struct lock_stat {
	int64_t instances; /* made less destroyed by this core: only the sum over all cores is a number of locks */
	uint64_t grabs;
	uint64_t conflicts; /* grabs that found the lock taken */
	uint64_t spins;     /* turns of waiting loops */
	uint64_t spins_max; /* in one grab */
	uint64_t wait;
	uint64_t wait_max;
	uint64_t hold;
	uint64_t hold_max;
	uint64_t wait_log2[STAT_BUCKETS]; /* grabs */
	uint64_t hold_log2[STAT_BUCKETS]; /* releases */
};

/* Whom conflicts of LOCK_CLASS_WRITE were with. One can be with both. */
struct writer_stat {
	uint64_t after_writer;  /* grabs that found another writer */
	uint64_t after_readers; /* grabs that found readers */
	uint64_t readers;       /* that were found, in all */
	uint64_t readers_max;   /* by one grab */
};

/* begun = committed + all aborted, and entries = committed + fallbacks, but for the entry that is being made. */
struct transaction_stat {
	uint64_t begun;
	uint64_t committed;
	uint64_t fallbacks; /* entries that took the lock instead */
	uint64_t aborted[ABORT_CAUSES];
};

struct core_stat {
	uint64_t idle_cycles;  /* in the idle thread, up to `updated` */
	uint64_t started;      /* TSC when the core entered user level or idle first */
	uint64_t updated;      /* TSC when idle_cycles was last brought up to date */
	uint64_t idle_since;   /* TSC since when the core idles; 0 when it does not */
	uint64_t entries;      /* +stat: kernel entries of every kind */
	uint64_t syscalls;     /* +stat: served, those made again included */
	uint64_t interrupts;   /* +stat: device, timer, doorbell and inter-core interrupts */
	uint64_t faults;       /* +stat */
	uint64_t switches;     /* +stat: thread switches */
	uint64_t latest;       /* +stat: TSC of the last thing that was counted */
	uint64_t reserved_line[6];
	struct transaction_stat transactions; /* +stat */
	struct writer_stat writers;           /* +stat */
	struct lock_stat lock[LOCK_CLASSES];  /* +stat */
	uint64_t reserved[27];
};

_Static_assert(sizeof(struct lock_stat) == 520, "its layout is what readers outside know");
_Static_assert(__builtin_offsetof(struct core_stat, transactions) == 128, "what plain images write is a line of its own");
_Static_assert(sizeof(struct core_stat) == 4096, "a frame");
