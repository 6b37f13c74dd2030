/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hosted machines side by side, each the other's cluster, for tests of what passes between two kernels. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "harness.h"

enum { PAIR_FIRST = 10, PAIR_CORES = 2 }; /* clusters 10 and 11 */

extern struct hosted *pair[2];

/* The machine that the harness speaks to: that of cluster PAIR_FIRST + which; the test's own again. */
void be(unsigned which);
void be_oneself(void);
/* Frees both machines. */
void pair_end(void);

/*
 * Makes machines of PAIR_CORES cores, with room for one more, that give cores and memory to each other. `memory` of
 * each, in bytes; 0: little.
 */
void pair_of_movers(uint64_t memory);
/* The number by which all kernels know core `index` of a machine. */
unsigned pair_cpu(unsigned which, unsigned index);
/* An invocation of that machine's cluster control, by its root task. */
uint64_t by(unsigned which, uint64_t label, uint64_t number, uint64_t to);
/* The same, twice if it is BUSY and the kernel has the choice of its locks: its cores may have an epoch to pass
 * first. */
uint64_t tried(unsigned which, uint64_t label, uint64_t number, uint64_t to);
/* The word by which the core moves (skerry/core_control.h). */
uint64_t word_of(unsigned number);
/* The core leaves machine `from` for the other one, which takes it: its move number `times`. */
void moves(unsigned from, unsigned number, unsigned times);
/* The machine's kernel is to have these locks. Returns whether it still changes. */
bool pair_changes(unsigned which, enum granularity wanted);
/* Makes `count` untypeds of 1 << bits bytes, which derive from nothing, in slots from `slot` on, of a large one. */
void cut(unsigned bits, uint64_t slot, unsigned count);
/* Returns the slot of an untyped at boot of `bits` or more. */
uint64_t large_untyped(unsigned bits);
