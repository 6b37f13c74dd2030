/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of calls that travel: the object's locality leaves out the caller's core (CNODE_LOCALITY). */
#pragma once

#include <stdint.h>
#include "ktest.h"

/* The objects that a scenario's threads share: on core 0 the main thread, others on the last one. */
struct homes {
	uint64_t endpoint, reply, notification, other; /* of two notifications */
	bool switches;
};

/*
 * Runs the scenario with each of the localities that matter, then with others before each step(), with other
 * granularities, too. Its checks hold in every regime: without localities this makes no difference.
 */
void at_each_home(void (*scenario)(struct homes *at));
/* Between two steps of a scenario. */
void step(const struct homes *at);
/* One of: all cores, the first, the last, both of these. */
uint32_t some_cores(unsigned which);
void set_home(uint64_t slot, unsigned which);
/* Before the localities count; and the kernel as it was. */
void homes_begin(void);
void homes_end(void);
uint64_t draw(void);
