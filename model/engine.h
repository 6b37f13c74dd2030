/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the parts of the explorer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "atomics.h"

/* What one thread may do next: its access, with the write it reads or follows. */
struct action {
	uint8_t thread;
	bool writes, sequential;
	write_name choice;
	uint64_t address;
};

/* explore.c: the thread whose code runs, NOBODY (plain.h) outside all of them. */
int engine_self(void);
/* The same, NOBODY also while it acts as hardware. */
int engine_watched(void);
/* An atomic access of the running thread; returns when it has been made. */
void engine_access(struct op *op, const void *code);

/*
 * shared.c: which threads use which atomic places, learnt as the exploration
 * goes. An access that commutes with all that others do there needs no choice
 * of schedule. When that turns out wrong, everything begins anew, wiser.
 */
void shared_start(void);
/* True: the access is a place to choose at. */
bool shared_note(unsigned thread, const struct op *op);
bool shared_was_wrong(void);
void shared_forget_all(void);

/*
 * Every schedule, also those that differ only in the order of accesses that
 * commute: to see that leaving them out loses no execution.
 */
extern bool engine_all_schedules;

struct engine_count {
	uint64_t executions; /* whole ones, each different */
	uint64_t redundant;  /* given up as another's twin */
	uint64_t states;     /* points of choice */
	uint64_t longest;    /* choices in one execution */
	uint64_t outcome[64];
	unsigned outcomes;
};
/* All executions of the case, up to the first that fails: then what is wrong with it, else null. */
const char *engine_explore(const struct explore_case *c, struct engine_count *result);
