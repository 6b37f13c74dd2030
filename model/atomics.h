/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic memory as C11 allows it: RC11 (Lahav et al., PLDI 2017) in the form of
 * a machine with views (Kang et al., POPL 2017, without promises).
 *
 * A location is the list of all values ever written to it, in modification
 * order. A thread has a view: for each location the oldest write it may still
 * see. A load takes any write from there on; a store goes anywhere behind it.
 * A release write carries its thread's view, an acquire load takes that over.
 * Happens-before is kept beside it in vector clocks, for plain.c.
 *
 * What x86 may do with such code (store buffers) is a part of this; so is what
 * other machines may do, but for load buffering, which RC11 rules out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "explore.h"

enum { LOCATIONS = 160, WRITES = 4096, CHOICES = 48 };

enum op_kind { OP_LOAD, OP_STORE, OP_RMW, OP_CAS };
enum rmw { RMW_EXCHANGE, RMW_ADD, RMW_SUB, RMW_AND, RMW_OR, RMW_XOR, RMW_NAND };

/* An atomic access that a thread is about to make. */
struct op {
	enum op_kind kind;
	enum rmw rmw;
	uint8_t size;
	bool acquire, release, sequential;
	bool failed_acquire, failed_sequential; /* of a compare-exchange that finds another value */
	bool drained; /* publishes only what left the store buffer (explore_raise) */
	uint64_t address, operand, expected;
	/* null: at once; else only when true, and until then the thread counts as done */
	bool (*ready)(void *argument);
	void *argument;
	/* what it gave */
	uint64_t value;
	bool exchanged;
};

static inline bool op_writes(const struct op *op) { return op->kind != OP_LOAD; }

/* A write is named by its thread, so that the name holds in every execution: thread + 1 and its number; 0 initial. */
typedef uint32_t write_name;

struct view {
	uint16_t seen[LOCATIONS]; /* write, by index; 0: none */
	uint16_t clock[EXPLORE_THREADS];
};

void memory_start(void);
/* Which writes the access may read (a store: follow); how many. None: it cannot be made now. */
unsigned memory_choices(unsigned thread, const struct op *op, write_name choice[CHOICES]);
void memory_apply(unsigned thread, struct op *op, write_name choice);
/* The access where there are no threads: memory is memory. */
void memory_apply_alone(struct op *op);
/* The plain world wrote here: what the location held is over. */
void memory_forget(uint64_t address, uint64_t size);
/* Does the thread's own happens-before cover the other's time? */
bool memory_ordered(unsigned thread, unsigned other, uint16_t clock);
uint16_t memory_clock(unsigned thread);

/*
 * A number for the execution so far: what each thread did and which stores it read,
 * and the order of writes to each place. Equal for executions that differ only
 * in the schedule.
 */
uint64_t memory_identity(void);
/* Turns of a waiting loop: one that was just like the one before is none (memory_turn(…, true)). */
void memory_turn(unsigned thread, bool again);

/* What the thread saw last of this address, and whether something newer is there now. */
write_name memory_last_seen(unsigned thread, uint64_t address);
bool memory_newer(uint64_t address, write_name than);
