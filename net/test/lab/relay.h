/* SPDX-License-Identifier: BSD-2-Clause */
/* A network in the switch's place that delays, loses and reorders frames, as drawn from lab.random. */
#pragma once

#include "lab.h"

struct relay {
	uint64_t delay, jitter; /* ns: of each frame, and up to so much more, by which frames overtake each other */
	uint32_t loss;          /* of a million frames */
	uint64_t passed, lost, overtaken, newest; /* frames; the last one is a number of one that has arrived */
};

/* Behind lab_start(), with lab.bells unset. */
void relay_start(struct relay *);
bool relay_runs(void);
void relay_run(void);
uint64_t relay_deadline(void); /* when the next frame arrives; 0: none is under way */
