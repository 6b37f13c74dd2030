/* SPDX-License-Identifier: BSD-2-Clause */
/* How long the kernel keeps interrupts waiting. */
#pragma once

#include "pingpong.h"

/* The worst latency of an interrupt that comes as the kernel is entered; within a few dozen instructions. */
struct stretch {
	uint64_t response; /* until the thread that waits for it runs */
	uint64_t delay;    /* the same, less what that takes while nothing is in its way */
	uint64_t wakes;    /* how often one got in */
};

/* --- watch.c --- */

/* Once; what it makes belongs to the test memory. */
void watch_init(void);
/* Calls `run` while the watching thread wants to run all the time. */
struct stretch watch_run(void (*run)(void));

/* --- operations.c --- */

struct operation {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
};
extern const struct operation operations[];
extern const unsigned operation_count;
