/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The canonical form: what no later step can tell apart becomes equal, so that states that differ in nothing else are
 * one. It is a change of the machine's memory, made after each step, and each such change is one that could have come
 * about in another way: a program leaves other values in its registers, the clock stands at another time, a core has
 * made fewer entries. What is not covered, since it is made equal: run times of threads and of idleness (TCB_TIME),
 * and slices that were interrupted elsewhere than at quarters of a slice.
 */
#pragma once

#include <stdint.h>
#include "census.h"

/* Notes the locks as they are when no core is inside; called when the machine is made. */
void canonical_begin(void);
/* `census` is of the state as it is. */
void canonical_make(const struct census *census);
