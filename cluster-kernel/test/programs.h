/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs for threads of the harness's machines: each says, whenever its
 * thread comes back from the kernel, what the thread does next. A program's own
 * state has no lock: the kernel never runs one thread on two cores, and hands it
 * over in order.
 */
#pragma once

#include "harness.h"

struct program {
	struct thread *thread;
	/* Posts the next call of its thread, which is current on `core`; false: no more, or wait for an interrupt. */
	bool (*next)(struct program *self, unsigned core);
	struct hosted *machine; /* null: the harness's */
	uint64_t left;          /* rounds that it must still do; what has none from the start serves others */
	bool ends;              /* it had some */
	uint64_t step, value, slot, vaddr; /* its own */
	unsigned index;
};

/*
 * Lets all run until each has done its rounds, then checks the kernels. A clock
 * that stands still while all wait goes on to `advance`d time; without it, or when
 * that does not help, somebody was not woken.
 */
void run_programs(struct program *programs, unsigned count, uint64_t advance);

/* A thread whose IPC buffer is mapped at buffer_at(slot), in its address space, running. */
struct thread *spawn(uint64_t slot, unsigned priority, unsigned core);
uint64_t buffer_at(uint64_t slot);
/* Makes a frame in `slot` and maps it at `vaddr`, which has page tables (the 2 MiB of buffer_at()). */
void make_page(uint64_t slot, uint64_t vaddr);

/* For programs: post a system call with up to four words; an invocation with up to three capabilities. */
bool post(struct program *self, unsigned core, unsigned number, uint64_t cptr, uint64_t word0, uint64_t reply);
bool invoke_on(struct program *self, unsigned core, uint64_t cptr, uint64_t label, const uint64_t *words,
               unsigned word_count, const uint64_t *caps, unsigned cap_count);
/* What the last call gave. */
uint64_t last(const struct program *self);
