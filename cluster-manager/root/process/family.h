/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of programs that may fork (`processes` in the map): a family is all processes of one application, each with
 * a place from 0 on, which is part of its badge, and a pid, which is not used again before 2^31 others were. The first
 * has place 0 and pid 1; when it ends, all do. Other programs are families of one, without anything of this.
 *
 * A child takes at its fork all memory that it may ever need, so that nothing can be missing later: a heap and a stack
 * as large as its parent's. What it has is an owner's of its own (slots.h), and goes back when it has ended and nobody
 * borrows its frames (share.h) any more; when a fork finds no other place, the borrowers get copies.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "inbox.h"

/* Starts a program, as process_start() does. */
int family_start(uint32_t application);
/* Ends all of its processes, as process_kill() does. */
void family_kill(uint32_t application);
/* Returns whether a process has this place and runs. */
bool family_runs(uint32_t application, uint32_t place);

/*
 * MANAGER_FORK by the process at `place`: the child begins at rip, with rsp and fs_base, when family_begin() is called:
 * behind the answer to its parent, which goes on first, as on Linux. Returns the child's place or an error.
 */
struct fork_start {
	uint64_t rip, rsp, fs_base;
};
int family_fork(uint32_t application, uint32_t place, const struct fork_start *start, uint32_t *pid);
void family_begin(uint32_t application, uint32_t place);
/*
 * MANAGER_EXEC. Returns 0: the process runs the other program; EXEC_ENDS: it has none, and must be ended; or an error,
 * with which nothing has changed.
 */
struct exec_order;
enum { EXEC_ENDS = 1 };
int family_exec(uint32_t application, uint32_t place, const struct exec_order *order);
/* The child at `place`, not 0, ends with this status, as wait() has it. Returns its parent's place, or -1. */
int family_ended(uint32_t application, uint32_t place, uint32_t status);
/* Ends the child at `place` for a fault of its thread, as family_ended() does, with the signal that Linux sends. */
int family_faulted(uint32_t application, uint32_t place, uint64_t fault, uint64_t vector, uint64_t rip);
/* Returns whether the process at `place` has a child with this pid that has ended, and was not forgotten yet. */
bool family_has_ended(uint32_t application, uint32_t place, uint32_t pid);
/*
 * MANAGER_WAIT without the wait: forgets a child that has ended, or a stop, and returns 0 with its pid and status; pid
 * 0: there are children, none has changed. `pid` 0: any. `how`: ASK_*. -SKERRY_NOT_FOUND: there is no such child.
 */
struct ended {
	uint32_t pid, status;
};
int family_reap(uint32_t application, uint32_t place, uint32_t pid, uint32_t group, unsigned how, struct ended *ended);

/* Returns a bit for each place of a process that runs and that `target` names for the one at `place`, as in kill(). */
uint32_t family_named(uint32_t application, uint32_t place, int64_t target);
/* Sends a signal to the process at `to`, from the one at `place`. Returns 0 or -SKERRY_BUSY. */
int family_send(uint32_t application, uint32_t place, uint32_t to, struct sent_signal signal);
/* Returns what has been sent to the process at `place`; null where the program is no family. */
struct inbox *family_inbox(uint32_t application, uint32_t place);
/* inbox_interrupt() of the process at `place`; says where that fails, as of an entry that no thread can have. */
void family_interrupt(uint32_t application, uint32_t place);
/* MANAGER_GROUP of the process at `place`. Returns 0 or an error. */
struct member_group {
	uint32_t group, session;
};
int family_group(uint32_t application, uint32_t place, enum manager_group what, uint32_t pid, uint32_t group,
                 struct member_group *answer);

/*
 * A thread of the process has touched an address; `present`: something is mapped there. Returns whether the thread may
 * go on: it was promised that memory, or shared it and has a copy now.
 */
bool family_touches(uint32_t application, uint32_t place, uint64_t address, unsigned needed, bool present);
/* MANAGER_PROTECT. Returns the bytes that are done, or an error. */
int64_t family_protect(uint32_t application, uint32_t place, uint64_t address, uint64_t size, uint64_t rights);

/* Returns the bytes that its processes were given, and the same without what of that they have not touched. */
uint64_t family_memory(uint32_t application);
uint64_t family_committed(uint32_t application);
