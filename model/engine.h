/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the parts of the explorer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "atomics.h"

/* --- plain.c: memory that is not atomic: data races, and taking back what an execution wrote --- */

enum { NOBODY = -1 };

void plain_start(void);
/*
 * An access by a thread; a failure if another's is not ordered with it, one of
 * the two a write and one not atomic. `code`: where, for people.
 */
void plain_access(int thread, uint64_t address, uint64_t size, bool write, bool atomic,
                  const void *code);
/* See explore_hardware(). */
bool plain_is_hardware(uint64_t address);
void plain_no_hardware(void);
/* Before memory changes, while executions run: plain_undo() brings it back. */
void plain_record(uint64_t address, uint64_t size);
void plain_undo(void);

/* --- explore.c, shared.c --- */

/* What one thread may do next: its access, with the write it reads or follows. */
struct action {
	uint8_t thread;
	bool writes, sequential;
	write_name choice;
	uint64_t address;
};

/* explore.c: the thread whose code runs, NOBODY outside all of them. */
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

/* A set of numbers: the executions that were seen, by memory_identity(). */

/* Adds it; false when it was there. */
bool seen_first(uint64_t identity);
void seen_clear(void);

/* What a thread read in one turn of a waiting loop: what it waits for is that one of these places is written. */

enum { READS = 64 };

struct turn {
	struct {
		uint64_t address;
		write_name write;
	} read[READS];
	unsigned count;
	bool wrote; /* or read too much to remember: such a turn is like no other */
};

/* An access that was made. */
void turn_note(struct turn *turn, unsigned thread, const struct op *op);
/* One of the places has been written since. */
bool turn_newer(const struct turn *turn);
/* It read nothing but what the last one read, and wrote nothing. */
bool turn_same(const struct turn *turn, const struct turn *last);

/* What a person sees of a failing execution. */

/* A name for an address; valid until the fourth call after. */
const char *report_place(uint64_t address);
/* Function, file and line. */
const char *report_code(const void *code);

void report_start(void);
/* An atomic access was made. */
void report_step(unsigned thread, const struct op *op, write_name choice, const void *code);
void report_print(void);
