/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which locks a core holds, since which place in the source, in the order in which it took them: what the debug build
 * of a lock records. The record is the core's own (struct cpu_private), so it needs no lock itself; in a transaction
 * it is rolled back with the rest.
 *
 * Each object has a rank, and a core takes locks in the order of their ranks. In regimes without object locks the calls
 * are recorded all the same, so a wrong order is found in every regime.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "annotations.h"

struct cpu;
struct object_lock;

enum held_rank { RANK_NOTIFICATION = 1, RANK_ENDPOINT, RANK_REPLY, RANK_RUN_QUEUE, RANK_TCB };

struct place {
	const char *file;
	unsigned line;
};

enum { HELD_MAX = 8 }; /* one of each rank, two TCBs, and room */

struct held {
	bool entered; /* between kernel_enter() and kernel_exit() */
	struct place entry;
	unsigned count;
	struct held_lock {
		const struct object_lock *lock;
		struct place place;
		enum held_rank rank;
	} lock[HELD_MAX];
};

_Noreturn void assertion_failed(const char *expression, const char *file, unsigned line);

/* For kernel_enter() and kernel_enter_exclusive(): called before they wait for the lock, and once they have it. */
void held_enter(struct cpu *cpu, struct place place);
void held_entered(struct cpu *cpu, struct place place);
void held_exit(struct cpu *cpu, struct place place);
/* For object locks: called before the wait, so that a self-deadlock is reported, and once the lock is taken. */
void held_take(struct cpu *cpu, const struct object_lock *lock, enum held_rank rank, struct place place);
void held_taken(struct cpu *cpu, const struct object_lock *lock, enum held_rank rank, struct place place);
/* Of two TCBs, in whichever order. */
void held_take_pair(struct cpu *cpu, const struct object_lock *a, const struct object_lock *b, struct place place);
void held_taken_pair(struct cpu *cpu, const struct object_lock *a, const struct object_lock *b, struct place place);
void held_drop(struct cpu *cpu, const struct object_lock *lock, struct place place);

void held_check(const struct object_lock *lock, const char *name, struct place place) HELD(lock);
void held_check_entered(struct place place);
void held_check_exclusive(struct place place);
