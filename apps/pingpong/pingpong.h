/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way into the kernel and out of it, measured: the root task of a cluster
 * of one core; `scale` takes more. Threads of threads.S and scale.S make system
 * calls; what they count comes back in a frame they share with the main thread.
 */
#pragma once

#include "bare.h"
#include "shared.h"

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

/* The shared frame, mapped here, zeroed but for what says how to end after `rounds`. */
void shared_make(uint64_t rounds);
/* Whether objects are at home on the core of the threads that use them (CNODE_LOCALITY): the program's last word is
 * `local`. */
extern bool at_home;
/* A new one for threads of this core. */
uint64_t object_of(unsigned core, enum skerry_object type);
/* A large frame that is mapped at `here` already in its place; nothing of it is changed. */
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
/* An address space with the code and the shared frame in it. */
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

/* --- latency.c --- */

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

/* On each of these numbers of cores, a list that ends with 0. */
void forkjoin_measure(unsigned rounds, const uint32_t *cores);

/* --- unmap.c --- */

enum { UNMAP_MOST_ROUNDS = 32, UNMAP_MOST_PAGES = 256 };
/* So many pages on each of these numbers of cores, lists that end with 0. `guard`: what guards the frames. */
void unmap_measure(unsigned rounds, const uint32_t *cores, const uint32_t *pages, enum frame_guard guard);

/* --- caches.c --- */

/* The arguments of `caches`, a measurement at each index; the lists end with 0. Cores count from 1. */
struct caches {
	uint64_t end_mib; /* the lines are in memory below this address, in MiB */
	/* one core writes the lines of so many pages, one reads the first of them */
	uint32_t writers[64], readers[64], pages[64];
};
void caches_measure(const struct caches *caches);
