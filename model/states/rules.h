/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must be so of each state, and of each step between two states at rest. A rule that is broken ends the process
 * (fail.h). Of a state: kernel_check(); a core has its thread's address space loaded, and nothing stale in its TLB; a
 * thread that runs beside a ready equal has an end. Of a step, from the machine before and after and from the call that
 * was made:
 *
 *     derivation   each capability keeps its parent, or gets the nearest ancestor that is left; revocation ends all
 *                  descendants and nothing else; a call that fails changes no capability
 *     authority    a new capability is in the slot that the call names, is derived from what the call names, and the
 *                  caller's capabilities have the rights that the call needs
 *     memory       a new frame, table, address space or CNode is zero
 *     signals      a bit is in the notification until a thread has got it
 *     replies      an answered caller goes on, and no caller goes on without
 *     time         at the end of a slice another one of the equals runs
 */
#pragma once

#include "census.h"
#include "operations.h"
#include "step.h"

/* What a step is about: the call of the core's current thread, from its registers or about to be put there. */
struct cause {
	const struct thread *caller; /* null: an interrupt, or what an earlier call has left */
	uint64_t number, cptr, label, reply;
	uint64_t word[OPERATION_WORDS], cap[OPERATION_CAPS];
	unsigned words, caps;
};

/* A machine of one core, at rest, before a step. */
struct rules_before {
	struct census census;
	struct cause cause;
	const struct thread *current, *equal; /* the first ready thread of the current one's priority, or null */
	uint64_t slice_end, words[CENSUS_MAX]; /* of each notification, by entry */
	bool tick;
};

/* The state of the machine, which is at rest. */
void rules_state(void);
/* Fills what is to be known before the step; `census` of it is filled. The machine has one core. */
void rules_before(struct rules_before *before, const struct step *step);
/* Before the canonical form is made. */
void rules_step(const struct rules_before *before, const struct census *after);
/* rules_step() has a part in a file of its own. */
void rules_derivation(const struct rules_before *before, const struct census *after, bool complete, uint64_t result);
