/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One step of a random run is a record of a few bytes, so that a change of one
 * byte changes one thing, and records can be taken out, put in and moved:
 *
 *     0      kind of operation
 *     1      core; OPERATION_HOLD: nothing runs before the next record's is posted, too
 *     2, 3   whose turn it is while it runs
 *     4-11   operands, in the order in which the operation draws them; when they
 *            are used up, numbers from a generator that all twelve bytes seed
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "hosted.h"

enum { RECORD_SIZE = 12, RECORD_CORE = 1, RECORD_TURNS = 2, RECORD_OPERANDS = 4 };
enum { OPERATION_HOLD = 0x80 };

/* Slots of the root CNode that operations play with, and the threads at the start. */
enum { PLAY_FIRST = 400, PLAY_SLOTS = 48, PLAY_THREADS = 4 };
/* Where the IPC buffers of the threads at the start are mapped, one page each. */
#define PLAY_BUFFERS 0x500000ull

/*
 * What the record says for the core: its current thread's next call or fault is posted, or memory is used, or a
 * device or the clock does something. Returns whether something was posted. Cores that are threads may do this at the
 * same time, each in its own `program`; what they see of the kernel then are guesses.
 */
bool operation_do(struct hosted *machine, unsigned core, const uint8_t record[RECORD_SIZE]);

/* Each system call, on stderr. */
extern bool operation_verbose;

/* The objects at the start of a random run. */

/* On a fresh machine: threads on all cores, and an object of each kind or more, in the slots of operation.h. */
void players_make(struct hosted *machine);
/* Where a thread's IPC buffer is mapped; of one made later, some page of these. */
uint64_t players_buffer(const struct hosted *machine, const struct thread *thread);
