/* SPDX-License-Identifier: BSD-2-Clause */
/* What a benchmark program is told: NAME=NUMBER, and cpus=LIST. */
#pragma once

#include <stdint.h>

enum { TEAM_MAX = 60 }; /* cores of one kernel */

struct options {
	unsigned cpu[TEAM_MAX]; /* of the host, one for each thread */
	unsigned cores;
	uint64_t rounds;  /* repetitions of what is measured alone */
	uint64_t window;  /* cycles for which threads are measured together */
	uint64_t delay;   /* mean cycles from leaving the kernel to entering it */
	uint64_t section; /* cycles with the lock */
	uint64_t lines;   /* cache lines shared by all, written in the section */
	uint64_t nap;     /* microseconds asleep in the section: threads that are not excluded enter then */
	uint64_t exclusive;   /* each so-manieth entry has the kernel to itself; 0: none */
	uint64_t unlocked;    /* 1: many cores in one kernel under `none` */
	uint64_t irrevocable; /* 1: the section says so (core/lock.h) */
	uint64_t seed;
};

/* From argv[first] on; anything else ends the program with status 2. */
void options_read(struct options *options, int argc, char **argv, int first);
