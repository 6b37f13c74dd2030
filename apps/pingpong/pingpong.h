/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way into the kernel and out of it, measured: the root task of a cluster
 * of one core. Threads of threads.S make system calls; their clock readings
 * come back in a frame they share with the main thread.
 */
#pragma once

#include "bare.h"
#include "shared.h"

enum { MAIN_PRIORITY = 100 }; /* of the thread that starts the others and waits */

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
	thread_server[], thread_yield_switch[];

/* --- setup.c: what one measure needs; all of it goes with the test memory --- */

extern struct shared *shared;

/* The shared frame, mapped here, zeroed but for what says how to end after `rounds`. */
void shared_make(uint64_t rounds);
void shared_wait(void);
/* An address space with the code and the shared frame in it. */
uint64_t space_new(void);
/* A thread in it; not started. `registers` but RIP and RBX are set. */
uint64_t thread_new(uint64_t vspace, unsigned index, const char *entry, struct thread_registers registers);
/* For a millisecond: threads of lower priority get to where they wait. */
void others_run(void);

/* --- ipc.c --- */

/* Measures and reports everything, `rounds` times each. */
void ipc_measure(unsigned rounds);

/* --- latency.c --- */

/* The same of the longest stretches with interrupts off. */
void latency_measure(void);
