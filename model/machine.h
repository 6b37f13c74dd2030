/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel itself under the explorer: hosted machines whose cores are the
 * explorer's threads. core/ and lock/ and the port's finish.c, paging.c and
 * core.c are instrumented, so that every atomic access of theirs is a place
 * where another core may go on, and everything else is watched for races.
 *
 * Interrupts arrive when the explorer says so, at a core that is outside the
 * kernel. Time stands still (a timer that is due from the start interrupts).
 */
#pragma once

#include "explore.h"
#include "harness.h"

enum { PROGRAM_CALLS = 4 };

/* What a thread does, wherever it runs: its system calls, one after the other. RIP says how far it is. */
struct program {
	struct thread *thread;
	uint64_t start; /* RIP */
	unsigned count;
	struct hosted_call call[PROGRAM_CALLS];
	uint64_t cap[PROGRAM_CALLS]; /* capability pointer to hand over, 0: none */
};

/* Makes harness.h's `machine`, for set_up; a case's threads are then machine_core, one for each core. */
void machine_make(unsigned cores);
/* Likewise, for a cluster that may give a core to another, MACHINE_NEIGHBOUR. */
void machine_make_giver(unsigned cores);
enum { MACHINE_NEIGHBOUR = 30 };
/* In set_up: lets a core do all that it has to do, and no other core. */
void machine_run_core(unsigned core);
/* Two, joined by a channel. The peer's cores come behind the first one's. */
struct hosted *machine_make_pair(unsigned cores, unsigned peer_cores);
void machine_drop(void);
/*
 * explore_main() for cases that begin with machine_make(). An argument --granularity fine|to-fine|to-coarse: the
 * kernel, of regime dynamic, is fine from the start, or is ordered to change when an execution begins.
 */
int machine_main(int argc, char **argv, const struct explore_case *cases);
/* One of these cases, on so many cores; and one with the outcomes that it must have (explore_outcome()). */
#define MACHINE_CASE_OF(title, cores, prepare, check, wanted)                                    \
	{ .name = title, .threads = cores, .thread = machine_core, .resume = machine_resume,     \
	  .set_up = prepare, .end = check, .tear_down = machine_drop, .outcomes = wanted }
#define MACHINE_CASE(title, cores, prepare, check) MACHINE_CASE_OF(title, cores, prepare, check, 0)
void machine_core(unsigned self);
void machine_resume(unsigned self);

/* Adds a call to what the thread does from here on, that hands over `cap` if that is not 0. */
void machine_program(struct thread *thread, struct hosted_call call, uint64_t cap);
/* A system call without words, and an invocation. */
void machine_does(struct thread *thread, uint64_t number, uint64_t cptr);
void machine_invokes(struct thread *thread, uint64_t cptr, uint64_t label, uint64_t w0, uint64_t w1, uint64_t cap);
/*
 * Gives the thread of `tcb`, which runs on core 1, an address space of its own, with a frame at `vaddr`; programs use
 * that address (machine_touch()). Takes slots from `slot` on: the pool of the space's memory, the space, tables, and
 * the frame.
 */
enum { MACHINE_SPACE = 1, MACHINE_SPACE_TABLES, MACHINE_SPACE_FRAME = MACHINE_SPACE_TABLES + 3 };
void machine_give_space(uint64_t tcb, uint64_t slot, uint64_t vaddr);
/* Programs use this address before and after each system call (0: none), so that TLBs fill. */
void machine_touch(uint64_t vaddr);
/*
 * Once the thread has made `calls` calls, the last with success, no core may use `vaddr` of the space by what its TLB
 * remembers with more than `rights`. Two at most.
 */
void machine_promise(const struct thread *thread, unsigned calls, const struct vspace *vspace, uint64_t vaddr,
                     unsigned rights);
/* Adds a breakpoint, which counts as a call. */
void machine_traps(struct thread *thread);
/* How many calls of its program the thread has begun (and not been sent back to). */
unsigned machine_progress(const struct thread *thread);
/* Whether a core has gone to the thread by the fast path in this execution. */
bool machine_went_fast(const struct thread *thread);

/* After an execution: kernel_check() of all machines; every call a program has made to its end gave 0. */
void machine_check(void);
