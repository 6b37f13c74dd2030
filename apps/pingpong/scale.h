/* SPDX-License-Identifier: BSD-2-Clause */
/* `scale`: pairs of threads on many cores, in one cluster or in several that go by the first one's orders. */
#pragma once

#include <stdatomic.h>
#include "pingpong.h"

/* The working set of a core's threads; while they run, others access `signal_at` alone. */
struct block {
	_Atomic uint64_t rounds, signal_at;
	uint64_t signal_call, signal_cap;
	_Atomic uint64_t drawn;
	uint64_t errors;
	uint32_t cluster, cpu; /* the counters' cluster and core; cpu is its place among all cores of the machine */
	char line[8];
	_Atomic uint64_t server_drawn;
	uint64_t server_errors;
	char page[SCALE_DELAYS - 80];
	uint32_t delays[SCALE_COUNT]; /* the client's; in units of the program */
	char page_rest[4096 - 4 * SCALE_COUNT];
	uint32_t server_delays[SCALE_COUNT];
};
_Static_assert(offsetof(struct block, signal_at) == SCALE_SIGNAL_AT &&
               offsetof(struct block, signal_call) == SCALE_SIGNAL &&
               offsetof(struct block, drawn) == SCALE_DRAWN && offsetof(struct block, errors) == SCALE_ERRORS &&
               offsetof(struct block, server_drawn) == SCALE_SERVER_DRAWN &&
               offsetof(struct block, server_errors) == SCALE_SERVER_ERRORS &&
               offsetof(struct block, delays) == SCALE_DELAYS &&
               offsetof(struct block, server_delays) == SCALE_SERVER_DELAYS &&
               sizeof(struct block) <= SCALE_BLOCK,
               "as scale.S has it");
_Static_assert((BOOT_MAX_CPUS + 2) * SCALE_BLOCK <= 1 << 21,
               "a large page has a block for each core, one for orders and one for a lock");

/* The order to all pairs of a cluster. */
struct order {
	_Atomic uint32_t number; /* of the order; the first is 1 */
	_Atomic uint32_t running, stop, stopped; /* the order's number, when it has come to that */
	uint32_t cores, delay, in_cycles;
	uint32_t section; /* instructions in a lock of the programs' own; 0: pairs call and answer */
};

static inline struct block *block_in(void *frame, unsigned core)
{
	return (struct block *)((char *)frame + core * SCALE_BLOCK);
}
static inline struct order *order_in(void *frame) { return (struct order *)block_in(frame, BOOT_MAX_CPUS); }

/* --- pairs.c: this cluster's; their blocks are in the shared frame --- */

void pairs_start(const struct order *order);
bool pairs_run(void); /* each has made a round trip */
void pairs_stop(void);

/* --- clusters.c --- */

/* Once, before the first memory_reset(): meets the other clusters in the memory of channels. */
void clusters_init(void);
unsigned clusters(void);
/* The frame with the blocks of a cluster; 0 is this one. */
void *cluster_frame(unsigned cluster);
/* The first cluster's: all others start, have started, stop, have stopped with what the order says. */
void others_start(const struct order *order);
bool others_have_started(const struct order *order);
void others_stop(const struct order *order);
void others_wait_stopped(const struct order *order);
/* Carries out orders, in a cluster other than the first. */
_Noreturn void cluster_obey(void);
