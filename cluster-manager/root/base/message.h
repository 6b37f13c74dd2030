/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages between managers. The primary (the cluster that owns the devices) drives the run: it sends orders to the
 * other managers and receives their reports. Its own orders and reports go through its mailbox (mailbox.h). The
 * receiver checks all bodies; strings are not terminated.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <skerry/stat_pack.h>
#include <skerry/syscall.h>
#include "mailbox.h"
#include "map.h"

enum message_type {
	/* orders: from the primary */
	ORDER_START = 1,   /* struct about_application: load and start it */
	ORDER_SERVING,     /* struct about_application: it serves, wake its waiters */
	ORDER_GONE,        /* struct about_application: it ended or will never be: do not wait for it */
	ORDER_RELEASE,     /* uint32_t: barrier of this number */
	ORDER_FINISH,      /* nothing: the run is over, send statistics ("end") and memory */
	ORDER_SAMPLE,      /* uint32_t: number of the sample; report what is counted now */
	ORDER_WRITTEN,     /* uint32_t: so many bytes of this cluster's texts have been written (writers.h) */
	ORDER_DOWN,        /* struct about_application, value: enum down: it will be started again: wait for it */
	ORDER_RELEASED,    /* uint32_t: barriers up to this number are open; to a manager that starts anew */
	/* uint32_t, the run's status: the run is over: the cluster that has a machine's devices switches it off */
	ORDER_POWER_OFF,

	/* reports: to the primary */
	REPORT_BOOT = 64,  /* struct report_boot */
	REPORT_CONSOLE,    /* struct about_application, then text: one line */
	REPORT_RESULT,     /* struct about_application, then text: one JSON object */
	REPORT_STARTED,    /* struct about_application, value: KiB of memory it was given */
	REPORT_FAILED,     /* struct about_application, value: error of errors.h; it could not be started */
	REPORT_SERVING,    /* struct report_serving: it listens; one of each port and address */
	REPORT_ARRIVED,    /* struct about_application, value: number of the barrier */
	REPORT_EXITED,     /* struct about_application, value: exit status */
	REPORT_FAULTED,    /* struct report_fault */
	REPORT_STATS_CORE, /* struct report_record, without histograms: one of each core, then */
	REPORT_STATS,      /* struct report_stats: that was all */
	REPORT_MEMORY,     /* struct report_memory */
	REPORT_LOCKS,      /* struct report_record of the sum, where the kernel counts; follows REPORT_STATS */
	REPORT_SAMPLE_CORE, /* struct report_record, without histograms: one of each core, then */
	REPORT_SAMPLE,     /* struct report_sample: that was all */
	/* struct report_life: to a primary that was lost, what became of a program; one of each, then */
	REPORT_LIFE,
	REPORT_RECOVERY,  /* struct report_recovery: that was all */
	/* struct report_granularity: an order from outside, or the map's, is carried out, or refused */
	REPORT_GRANULARITY,
	REPORT_CORE,       /* struct report_core: a core has moved, or an order to move one is refused */
	REPORT_MOVED,      /* struct report_moved: memory has moved, or an order to move some is refused */

	/* notes of the primary to itself; from another cluster they are refused */
	NOTE_UNSENT = 128, /* struct about_application: ORDER_START of it could not be sent */
	NOTE_LOADED,       /* struct note_loaded: the primary has fenced a lost cluster, and had it loaded */
	NOTE_DOWN,         /* struct note_down: a lost cluster is not started again, or not any more */
	NOTE_FENCED,       /* struct note_fenced: no core of a lost cluster runs what it ran */
};

/* Why a program is down. */
enum down {
	DOWN_ENDED,
	DOWN_LOST, /* with its cluster, which closed none of its ports */
};

#define ABOUT_MANAGER 0xffffffffu /* about_application.application of the manager's own console lines */

struct about_application {
	uint32_t application; /* index in the map */
	uint32_t value;
};

struct report_serving {
	uint32_t application;
	uint32_t port;    /* TCP port at which it listens; 0: it serves in another way */
	uint32_t address; /* IPv4 address at which it listens, network byte order; 0: at all that it has */
	uint32_t reserved;
};

struct report_boot {
	uint64_t tsc, tsc_hz;
	uint64_t stat; /* physical address of its cores' records (stat.h), for a reader outside the machine */
	uint64_t ledger; /* physical address of its ledger (skerry/ledger.h); 0: there is none */
	/* physical address of the words of the machine's cores (skerry/core_control.h); 0: none joins this cluster */
	uint64_t core_words;
	/* physical address of the words of the machine's memory (skerry/memory_control.h); 0: none moves here */
	uint64_t memory_words;
	uint32_t cores;
	uint32_t again; /* to a later life of the primary: it has not started anew */
	char kernel[BOOT_NAME_SIZE];
};

enum life_state { LIFE_NONE, LIFE_RUNS, LIFE_EXITED, LIFE_KILLED, LIFE_FAILED, LIFE_GONE };

struct report_life {
	uint32_t application;
	uint32_t state;   /* enum life_state; GONE: it ended, and is not started again */
	uint32_t value;   /* exit status, or why it could not be started */
	uint32_t serving;
	uint32_t arrived; /* last barrier that it came to */
	uint32_t reserved;
};

struct report_recovery {
	uint32_t released; /* last barrier that opened */
	uint32_t is_over;  /* the order to finish has come */
	uint32_t lost_ms;  /* since the loss of the primary was known; 0: it was not */
	uint32_t is_ours, fence_ms, load_ms; /* the sender has started it again, which took so long */
	uint32_t reason, core, silent_ms;    /* as in struct watch_verdict */
	char text[144];     /* terminated */
	uint32_t reserved;
};

struct note_loaded {
	uint32_t cluster, fence_ms, load_ms;
};

struct note_fenced {
	uint32_t cluster;
};

struct note_down {
	uint32_t cluster;
	uint32_t is_stuck; /* it cannot be fenced, or not be loaded */
	char text[64];      /* terminated */
};

struct report_granularity {
	uint32_t number; /* of the order; 0: the map's */
	uint32_t fine;   /* enum granularity that was ordered */
	uint32_t error;  /* of errors.h; 0: the kernel has it */
	uint32_t reserved;
};

/* The state of a core, or of the order to move it. */
enum core_event {
	CORE_LEFT,         /* its cluster, for another */
	CORE_JOINED,
	CORE_IS_FIRST,     /* of its cluster: the manager runs on it */
	CORE_HAS_PROGRAMS,
	CORE_IS_NOT_OURS,
	CORE_REFUSED,      /* by the kernel: `error` */
	CORE_RUNS,         /* `application` runs on it, and not on the map's */
	CORE_EVENTS,
};

struct report_core {
	uint32_t number; /* of the order */
	uint32_t what;   /* enum core_event */
	uint32_t cpu;    /* place in the map */
	uint32_t to;     /* cluster */
	uint32_t error;  /* of errors.h */
	uint32_t application;
};

/* The state of memory, or of the order to move some. */
enum memory_event {
	MEMORY_GIVEN,    /* to another cluster, which has still to take it */
	MEMORY_TAKEN,
	MEMORY_ADOPTED,  /* on an order: what others have not taken */
	MEMORY_RETURNED, /* the other cluster has not taken it */
	MEMORY_TOO_LITTLE, /* so much is not free in pieces of 2 MiB */
	MEMORY_IS_DOWN,  /* the other cluster */
	MEMORY_REFUSED,  /* `error` */
	MEMORY_EVENTS,
};

struct report_moved {
	uint32_t number; /* of the order */
	uint32_t what;   /* enum memory_event */
	uint32_t pieces; /* of 2 MiB */
	uint32_t cluster; /* that has them, or is to have them */
	uint32_t free;   /* pieces that the sender could give still */
	uint32_t error;  /* of errors.h */
};

/* Where a page fault is: in the page below a stack; where the program has itself taken rights from its pages. */
enum report_place { PLACE_OTHER, PLACE_GUARD, PLACE_PROTECTED };

struct report_fault {
	uint32_t application;
	uint32_t fault; /* enum skerry_fault */
	uint64_t word[5];
	uint32_t registers_known;
	uint32_t place; /* of a page fault: enum report_place */
	struct thread_registers registers;
};

/* A core's record, or the sum of all of a cluster, packed (skerry/stat_pack.h): the message ends with its last word. */
struct report_record {
	uint32_t number; /* what for: a `when` of struct report_stats, or an order's number */
	uint32_t core;   /* index in the cluster; of a sum 0 */
	uint64_t word[STAT_PACKED_MAX];
};
/* The same without histograms, as it is made. */
struct report_brief {
	uint32_t number, core;
	uint64_t word[STAT_PACKED_BRIEF_MAX];
};
_Static_assert(sizeof(struct report_record) <= MESSAGE_SIZE_MAX, "a record fits a message");

/* `when` 0: when the cluster started; STATS_END: at the end of the run; else the number of a barrier. */
enum { STATS_START = 0, STATS_END = 0xffffffff };
struct report_stats {
	uint64_t tsc;
	uint32_t when, reserved;
};

/* So many applications a message; with their names twice they fit a line of results (output/results.c). */
enum { REPORT_MEMORY_MOST = 256 };
struct report_memory {
	uint64_t total, free;  /* bytes */
	uint32_t count, slots; /* free capability slots */
	uint32_t follows, reserved; /* 1: another message has more applications */
	struct report_memory_of {
		uint32_t application;
		uint32_t given, committed; /* KiB */
	} each[REPORT_MEMORY_MOST]; /* `count` of them */
};
_Static_assert(sizeof(struct report_memory) <= MESSAGE_SIZE_MAX, "so many applications fit a message");

struct report_sample {
	uint32_t number, reserved;
	uint64_t tsc_hz;
	uint64_t memory_total, memory_free; /* bytes */
};
