/* SPDX-License-Identifier: BSD-2-Clause */
/* The alphabet: what a core of the tiny machine can do in one step, and the themes, which are parts of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum operation_kind {
	OP_CALL,  /* the current thread makes a system call */
	OP_FAULT, /* or raises a fault, */
	OP_STORE, /* writes TINY_SECRET to memory that it has mapped and nobody has written, */
	OP_TOUCH, /* reads such memory: the TLB has the translation then */
	OP_TICK,  /* the clock goes on to the core's timer, which interrupts */
	OP_PIN,   /* a device interrupts */
	OP_GO_ON, /* a call that stopped goes on; of several cores: one that is inside the kernel does */
};

enum { OPERATION_WORDS = 6, OPERATION_CAPS = 3 };

struct operation {
	const char *name;
	enum operation_kind kind;
	uint64_t number, cptr, reply; /* SYS_*, RDI, R12 */
	uint64_t label;
	unsigned words;
	uint64_t word[OPERATION_WORDS], cap[OPERATION_CAPS];
	bool waits; /* word 0 is a deadline: three slices from now */
};

extern const struct operation operations[];
extern const unsigned operations_count;
/* Returns the number of the operation, operations_count if none has the name. */
unsigned operation_find(const char *name);

struct theme {
	const char *name;
	unsigned cores;
	unsigned depth;  /* in which a test explores it */
	bool dirty;      /* tiny_config.dirty */
	const char *operations; /* names, each with a comma behind it; null: all */
};

extern const struct theme themes[];
extern const unsigned themes_count;
/* Returns null if no theme has the name. */
const struct theme *theme_find(const char *name);
/* Fills `number` with the operations of the theme, in the order of the alphabet. Returns how many there are. */
unsigned theme_operations(const struct theme *theme, uint16_t *number);
