/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way into the kernel and out of it, measured: the root task of a cluster
 * of one core; `scale` takes more. Threads of threads.S and scale.S make system
 * calls; what they count comes back in a frame they share with the main thread.
 */
#pragma once

#include <stdatomic.h>

#include "bare.h"
#include "shared.h"

/* PINGPONG_CORES: of a cluster. The build makes the program twice: for FEW_CORES, with recorded figures and with blocks
 * of memory in one large page; and for as many cores as a kernel takes. */
enum { FEW_CORES = 60 };

struct shared {
	uint32_t stamp[2];
	uint64_t rounds;
	uint64_t done_call, done_cap;
	uint64_t index;
	uint64_t prepare_call, prepare_cap;
	uint32_t errors;
};
_Static_assert(offsetof(struct shared, rounds) == SHARED_ROUNDS, "as threads.S has it");
_Static_assert(offsetof(struct shared, done_call) == SHARED_DONE, "as threads.S has it");
_Static_assert(offsetof(struct shared, index) == SHARED_INDEX, "as threads.S has it");
_Static_assert(offsetof(struct shared, errors) == SHARED_ERRORS, "as threads.S has it");
_Static_assert(offsetof(struct shared, prepare_call) == SHARED_PREPARE, "as threads.S has it");

extern const char threads_start[], threads_end[], thread_empty[], thread_single[], thread_prepared[], thread_client[],
	thread_server[], thread_switch[], thread_switch_begun[];

/* --- setup.c: what one measure needs; all of it goes with the test memory --- */

extern struct shared *shared;

/* The shared frames, mapped here, zeroed but for what says how to end after `rounds`. They follow one another. */
void shared_make(uint64_t rounds);
/* Whether objects are at home on the core of the threads that use them (CNODE_LOCALITY): the program's last word is
 * `local`. */
extern bool at_home;
/* A new one for threads of this core. */
uint64_t object_of(unsigned core, enum skerry_object type);
/* Large frames in slots from `frame` on, mapped at `here` already, in their place; nothing of them is changed. */
void shared_use(uint64_t frame, void *here);
void shared_wait(void);
/* The last thread signals it; shared_wait() waits for it. */
uint64_t shared_done(void);
/* Position-independent, less than a page. */
struct code {
	const char *start, *end;
};
extern const struct code threads_code;
#define SHARED_THERE 0x40000000ull /* where threads find the shared frame */
/* An address space with the code and the shared frames in it. */
uint64_t space_of(const struct code *code);
static inline uint64_t space_new(void) { return space_of(&threads_code); }
/* A thread in it; not started. `registers` but RIP are set. `index`: of the thread in its address space. */
uint64_t thread_of(const struct code *code, uint64_t vspace, unsigned index, unsigned core, const char *entry,
                   struct thread_registers registers);
/* On core 0, with RBX set, too. */
uint64_t thread_new(uint64_t vspace, unsigned index, const char *entry, struct thread_registers registers);
/* For a millisecond: threads of lower priority get to where they wait. */
void others_run(void);

/* --- ipc.c --- */

/* Measures and reports everything, `rounds` times each. */
void ipc_measure(unsigned rounds);

/* --- watch.c: interrupts --- */

/* The same of the longest stretches with interrupts off. */
void latency_measure(void);

/* --- scale.c --- */

/* The arguments of `scale`. */
struct scale {
	const char *unit;                 /* of delays: instructions or cycles */
	unsigned rounds;                  /* of all pairs together, about */
	uint32_t cores[64], delays[64];   /* every delay on so many cores each; the lists end with 0 */
	unsigned section;                 /* as in struct order */
};
void scale_measure(const struct scale *scale);

/* --- forkjoin.c --- */

/* On each of these numbers of cores, a list that ends with 0. `at_once`: one call signals all. */
void forkjoin_measure(unsigned rounds, const uint32_t *cores, bool at_once);

/* --- unmap.c --- */

enum { UNMAP_MOST_ROUNDS = 32, UNMAP_MOST_PAGES = 256 };
/* So many pages on each of these numbers of cores, lists that end with 0. `guard`: what guards the frames. */
void unmap_measure(unsigned rounds, const uint32_t *cores, const uint32_t *pages, enum frame_guard guard);

/* --- shootdown.c: in the program for more than FEW_CORES only --- */

void shootdown_measure(const struct cluster_map *map);

/* --- caches.c --- */

/* The arguments of `caches`, a measurement at each index; the lists end with 0. Cores count from 1. */
struct caches {
	uint64_t end_mib; /* the lines are in memory below this address, in MiB */
	/* one core writes the lines of so many pages, one reads the first of them */
	uint32_t writers[64], readers[64], pages[64];
};
void caches_measure(const struct caches *caches);

/* How long the kernel keeps interrupts waiting. */

/* The worst latency of an interrupt that comes as the kernel is entered; within a few dozen instructions. */
struct stretch {
	uint64_t response; /* until the thread that waits for it runs */
	uint64_t delay;    /* the same, less what that takes while nothing is in its way */
	uint64_t wakes;    /* how often one got in */
};

/* --- watch.c --- */

/* Once; what it makes belongs to the test memory. */
void watch_init(void);
/* Calls `run` while the watching thread wants to run all the time. */
struct stretch watch_run(void (*run)(void));

/* --- operations.c --- */

struct operation {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
};
extern const struct operation operations[];
extern const unsigned operation_count;

/* `scale`: pairs of threads on many cores, in one cluster or in several that go by the first one's orders. */

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
_Static_assert((FEW_CORES + 2) * SCALE_BLOCK <= 1 << 21,
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
/* The block for orders; the one for a lock is behind it. */
static inline unsigned order_block(void) { return PINGPONG_CORES > FEW_CORES ? ROOT->cpu_count : PINGPONG_CORES; }
static inline struct order *order_in(void *frame) { return (struct order *)block_in(frame, order_block()); }
/* Large pages that the blocks are in. */
static inline unsigned shared_frames(void) { return ((order_block() + 2) * SCALE_BLOCK + (1 << 21) - 1) >> 21; }

/* --- pairs.c: this cluster's; their blocks are in the shared frame --- */

void pairs_start(const struct order *order);
bool pairs_run(void); /* each has made a round trip */
void pairs_stop(void);

/* --- clusters.c --- */

/* Once, before the first memory_reset(): meets the other clusters in the memory of channels. */
void clusters_init(void);
unsigned clusters(void);
/* The frames with the blocks of a cluster; 0 is this one. */
void *cluster_frame(unsigned cluster);
/* The first cluster's: all others start, have started, stop, have stopped with what the order says. */
void others_start(const struct order *order);
bool others_have_started(const struct order *order);
void others_stop(const struct order *order);
void others_wait_stopped(const struct order *order);
/* Carries out orders, in a cluster other than the first. */
_Noreturn void cluster_obey(void);
