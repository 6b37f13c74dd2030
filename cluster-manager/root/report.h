/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What managers tell each other. The primary (the cluster that owns the
 * devices) drives the run: orders go from it to the others, reports to it. Its
 * own reports take the same way without a channel. All bodies are checked by
 * whoever receives them; strings are not terminated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/sample.h>
#include <skerry/stat.h>
#include <skerry/syscall.h>
#include "fragment.h"
#include "map.h"

enum message_type {
	/* orders: from the primary */
	ORDER_START = 1,   /* struct about_application: load and start it */
	ORDER_SERVING,     /* struct about_application: it serves, wake who awaits it */
	ORDER_GONE,        /* struct about_application: it ended or will never be: do not wait for it */
	ORDER_RELEASE,     /* uint32_t: barrier of this number */
	ORDER_FINISH,      /* nothing: the run is over, send statistics ("end") and memory */
	ORDER_SAMPLE,      /* uint32_t: number of the sample; report what is counted now */
	ORDER_POWER_OFF,   /* uint32_t, the run's status: all is said, who has a machine's devices switches it off */

	/* reports: to the primary */
	REPORT_BOOT = 64,  /* struct report_boot */
	REPORT_CONSOLE,    /* struct about_application, then text: one line */
	REPORT_RESULT,     /* struct about_application, then text: one JSON object */
	REPORT_STARTED,    /* struct about_application, value: KiB of memory it was given */
	REPORT_FAILED,     /* struct about_application, value: error of errors.h; it could not be started */
	REPORT_SERVING,    /* struct about_application */
	REPORT_ARRIVED,    /* struct about_application, value: number of the barrier */
	REPORT_EXITED,     /* struct about_application, value: exit status */
	REPORT_FAULTED,    /* struct report_fault */
	REPORT_STATS,      /* struct report_stats */
	REPORT_MEMORY,     /* struct report_memory */
	REPORT_LOCKS,      /* struct report_locks, where the kernel counts; follows REPORT_STATS */
	REPORT_SAMPLE_CORE, /* struct report_sample_core: one of each core, then */
	REPORT_SAMPLE,     /* struct report_sample: that was all */
};

#define ABOUT_MANAGER 0xffffffffu /* about_application.application of the manager's own console lines */

struct about_application {
	uint32_t application; /* index in the map */
	uint32_t value;
};

struct report_boot {
	uint64_t tsc, tsc_hz;
	uint64_t stat; /* physical address of its cores' records (stat.h), for who reads them from outside the machine */
	uint32_t cores, reserved;
	char kernel[BOOT_NAME_SIZE];
};

struct report_fault {
	uint32_t application;
	uint32_t fault; /* enum skerry_fault */
	uint64_t word[5];
	uint32_t registers_known, reserved;
	struct thread_registers registers;
};

/* `barrier` 0: when the cluster started; STATS_END: at the end of the run. */
enum { STATS_START = 0, STATS_END = 0xffffffff };
struct report_stats {
	uint64_t tsc;
	uint32_t when, cores;
	/* What there is to say of each core: sums over the locks of the kernel as a whole, whichever those are. */
	struct report_core {
		uint64_t tsc, idle, started; /* idle cycles hold up to tsc */
		uint64_t entries, syscalls, interrupts, faults, switches;
		uint64_t lock_grabs, lock_conflicts, lock_spins, lock_wait, lock_wait_max, lock_hold, lock_hold_max;
		uint64_t commits;
	} core[BOOT_MAX_CPUS]; /* `cores` of them */
};
_Static_assert(sizeof(struct report_stats) <= MESSAGE_SIZE_MAX, "statistics fit a message");

struct report_locks {
	uint32_t when, reserved;
	struct core_stat sum; /* over all cores of the cluster; of maxima the greatest */
};
_Static_assert(sizeof(struct report_locks) <= MESSAGE_SIZE_MAX, "statistics fit a message");

struct report_memory {
	uint64_t total, free;  /* bytes */
	uint32_t count, reserved;
	struct about_application each[MAP_MAX_APPLICATIONS]; /* `count` of them; value in KiB */
};

struct report_sample_core {
	uint32_t number, core; /* of the order; index in the cluster */
	struct sample_core sample;
};

struct report_sample {
	uint32_t number, reserved;
	uint64_t tsc_hz;
	uint64_t memory_total, memory_free; /* bytes */
};

/* To the primary, wherever that is. */
void report(enum message_type type, const void *body, size_t size);
void report_about(enum message_type type, uint32_t application, uint32_t value);
/* With text behind it. */
void report_text(enum message_type type, uint32_t application, const char *text, size_t length);

/* To all other clusters and to this one; only the primary orders. */
void order_all(enum message_type type, const void *body, size_t size);
