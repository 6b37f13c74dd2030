/* SPDX-License-Identifier: BSD-2-Clause */
/* Time: the time-stamp counter's cycles, which are the same on all cores and need not be the core's own. */
#pragma once

#include <stdint.h>
#include <x86intrin.h>

/*
 * Around what is measured: nothing of it begins before the one, or ends after the other (Intel SDM volume 2, RDTSC and
 * RDTSCP).
 */
static inline uint64_t cycles_begin(void)
{
	_mm_lfence();
	uint64_t now = __rdtsc();
	_mm_lfence();
	return now;
}

static inline uint64_t cycles_end(void)
{
	unsigned processor;
	uint64_t now = __rdtscp(&processor);
	_mm_lfence();
	return now;
}

/* Waits, busily, and returns when it did. */
static inline uint64_t cycles_until(uint64_t then)
{
	uint64_t now;
	while ((now = __rdtsc()) < then)
		;
	return now;
}
