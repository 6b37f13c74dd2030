/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads whose calls another core makes (core/visit.h), in an order that a test chooses: they are away, the root task
 * makes its invocations, then their calls are made. Of regime `dynamic`, fine.
 */
#pragma once

#include "harness.h"

enum { TRAVELLERS = 6, TRAVEL_STEPS = 16 };
/* the threads are on core TRAVEL_AT, what they call on TRAVEL_HOME */
enum { TRAVEL_CORES = 3, TRAVEL_AT = 1, TRAVEL_HOME = 2 };

struct travel_call {
	uint64_t number, label, cptr, reply;
};
struct travel_step {
	uint64_t label, word[4], cptr; /* 0: the root CNode */
};
struct travel {
	const struct thread *traveller[TRAVELLERS];
	/* what those do that run when the ones before them are away; number 0: nothing, or posted */
	struct travel_call call[TRAVELLERS];
	struct travel_step step[TRAVEL_STEPS]; /* invocations, by the root task */
	uint64_t result[TRAVEL_STEPS];
	unsigned steps;
	/* The rest is the order's own. */
	unsigned done, turns;
	bool released; /* the home may go on */
};

/* The current thread of a core makes the call, with words and a capability that fit any. */
void travel_post(unsigned core, const struct travel_call *call);
/* What has been posted happens in that order. Returns whether all travelled, and waited for the root task. */
bool travel_run(struct travel *order);
