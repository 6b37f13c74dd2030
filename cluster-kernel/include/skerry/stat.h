/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel's counters, one record per core. User level reads them through the frames whose addresses root_info gives.
 * All times are TSC cycles, all counters start at 0 when the core starts and only grow. Fields written by "+stat"
 * images only are marked; a plain image leaves them 0.
 *
 * Only the core itself writes its record. A reader on another core reads each field whole, but not all fields of one
 * moment. The three fields of idle time are of one moment if `sequence` was even and the same before and after they
 * were read (skerry/stat_read.h).
 */
#pragma once

#include <stdint.h>

/*
 * The type of each word of a record. Readers handle a word by its type and show it under its name (topology/headers.py,
 * lib/stat). So a word that is added here is sent, summed and shown everywhere, with its comment as the description.
 */
typedef uint64_t stat_count;  /* grows */
typedef uint64_t stat_cycles; /* grows; TSC cycles */
typedef uint64_t stat_max;    /* the greatest since the core started */
typedef uint64_t stat_moment; /* a state of one core at one moment: neither summed nor subtracted */
typedef int64_t stat_level;   /* may fall; added over cores, not subtracted */

/* The version is raised when a word changes its meaning or its place, not when a reserved word gets one. */
enum { STAT_VERSION = 1 };
#define STAT_LAYOUT ((uint64_t)STAT_VERSION << 32 | sizeof(struct core_stat))

/* The classes of locks, by what they guard. A kernel has the classes of its regime. */
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

/* The reason of an abort: the first of these whose bit is set in the processor's abort status. */
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

/* Bucket i counts times of 2^i cycles and more, but less than 2^(i+1); the first has 0, too, the last all longer
 * ones. */
enum { STAT_BUCKETS = 28 };

/*
 * The sums over all locks of a class. Wait: from the request of a lock to its acquisition. Hold: from there to its
 * release.
 */
struct lock_stat {
	/* locks made less locks destroyed by this core: only the sum over all cores is a number of locks */
	stat_level instances;
	stat_count acquisitions; /* times that a lock of the class was taken */
	stat_count conflicts; /* acquisitions that found the lock taken */
	stat_count spins;     /* turns of waiting loops */
	stat_max spins_max;   /* turns in one acquisition */
	stat_cycles wait;     /* time from wanting a lock to having it */
	stat_max wait_max;
	stat_cycles hold;     /* time from having a lock to giving it up */
	stat_max hold_max;
	stat_count wait_log2[STAT_BUCKETS]; /* acquisitions */
	stat_count hold_log2[STAT_BUCKETS]; /* releases */
};

/* The other side of conflicts of LOCK_CLASS_WRITE. One conflict can be with both. */
struct writer_stat {
	stat_count after_writer;  /* acquisitions that found another writer */
	stat_count after_readers; /* acquisitions that found readers */
	stat_count readers;       /* readers that were found, in all */
	stat_max readers_max;     /* readers found by one acquisition */
};

/* begun = committed + all aborted, and entries = committed + fallbacks, but for the entry that is being made. */
struct transaction_stat {
	stat_count begun;     /* hardware transactions begun */
	stat_count committed; /* hardware transactions committed */
	stat_count fallbacks; /* kernel entries that took the lock instead */
	stat_count aborted[ABORT_CAUSES]; /* hardware transactions aborted, by cause */
};

struct core_stat {
	_Atomic stat_cycles idle_cycles; /* time that the core had nothing to run, up to `updated` */
	stat_moment started;   /* TSC when the core entered user level or idle first */
	_Atomic stat_moment updated;    /* TSC when idle_cycles was last brought up to date */
	_Atomic stat_moment idle_since; /* TSC since when the core idles; 0 when it does not */
	stat_count entries;    /* +stat: kernel entries of every kind */
	stat_count syscalls;   /* +stat: system calls served, those made again included */
	stat_count interrupts; /* +stat: interrupts of devices, timer, doorbells and other cores */
	stat_count faults;     /* +stat: faults of programs */
	stat_count switches;   /* +stat: thread switches */
	stat_moment latest;    /* +stat: TSC of the last thing that was counted */
	/* grows by two each time the core begins to idle or ends; odd while it writes that */
	_Atomic stat_moment sequence;
	stat_moment layout;    /* STAT_LAYOUT of the kernel; 0 until the core has started */
	stat_count reserved_line[4];
	struct transaction_stat transactions; /* +stat */
	struct writer_stat writers;           /* +stat */
	struct lock_stat lock[LOCK_CLASSES];  /* +stat */
	stat_count reserved[27];
};

_Static_assert(sizeof(struct lock_stat) == 520, "its layout is what readers outside know");
_Static_assert(__builtin_offsetof(struct core_stat, transactions) == 128,
               "what plain images write is a line of its own");
_Static_assert(sizeof(struct core_stat) == 4096, "a frame");
