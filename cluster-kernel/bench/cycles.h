/* SPDX-License-Identifier: BSD-2-Clause */
/* Time: the time-stamp counter's cycles, which are the same on all cores and need not be the core's own. */
#pragma once

#include <stdint.h>

/*
 * Around what is measured: nothing of it begins before the one, or ends after the other (Intel SDM volume 2, RDTSC and
 * RDTSCP).
 */
static inline uint64_t cycles_begin(void)
{
	__builtin_ia32_lfence();
	uint64_t now = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return now;
}

static inline uint64_t cycles_end(void)
{
	unsigned processor;
	uint64_t now = __builtin_ia32_rdtscp(&processor);
	__builtin_ia32_lfence();
	return now;
}

/* Waits, busily, and returns when it did. */
static inline uint64_t cycles_until(uint64_t then)
{
	uint64_t now;
	while ((now = __builtin_ia32_rdtsc()) < then)
		;
	return now;
}

/* The counter's rate, measured against CLOCK_MONOTONIC for 50 ms. */
double cycles_per_second(void);
