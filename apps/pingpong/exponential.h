/* SPDX-License-Identifier: BSD-2-Clause */
/* Exponentially distributed delays without floating point. */
#pragma once

#include <stdint.h>

enum { EXPONENTIAL_COUNT = 128 }; /* of delays that have the right mean together */

/*
 * Fills `delays` with the distribution of mean `mean` (below 2^29), cut into
 * EXPONENTIAL_COUNT parts of equal probability, each part's mean standing for
 * it: all of them together have the mean exactly, and a standard deviation 1 %
 * below it. Their order is random, another for each `seed`. A loop
 * over all of them has the mean after a few hundred, where single
 * draws would take tens of thousands.
 */
void exponential_fill(uint32_t delays[EXPONENTIAL_COUNT], uint32_t mean, uint64_t seed);
