/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads, each on a processor of its own, that are measured over the same stretch of time. */
#pragma once

#include <stdint.h>
#include "options.h"

struct team;

struct member {
	struct team *team;
	unsigned index, cpu;
	void *state;  /* of the thread that runs it */
	double share; /* of its time that the host let it run */
};

struct team {
	unsigned count;
	void (*run)(struct member *self); /* until `end` */
	uint64_t start, end;              /* TSC: what happens between counts; set before anybody runs */
	_Atomic unsigned arrived, privileged; /* how many the host runs before all others */
	_Atomic uint64_t opened;
	struct member member[TEAM_MAX];
};

/*
 * At real-time priority where the host allows it: other work would stop a core for milliseconds in the middle.
 * Each state is one of `count`, `size` bytes apart. A processor that is not there ends the program with status 2.
 */
void team_run(struct team *team, const struct options *options, void (*run)(struct member *), void *states,
              uint64_t size);
/* The least share that anybody had. */
double team_share(const struct team *team);
/* This thread runs there from now on. */
void team_pin(unsigned cpu);
