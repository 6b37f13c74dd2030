/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading what kernels count (stat.h) while they count. */
#pragma once

#include <stdatomic.h>
#include <skerry/stat.h>

enum {
	STAT_WORDS = sizeof(struct core_stat) / 8,
	STAT_WORDS_PLAIN = __builtin_offsetof(struct core_stat, transactions) / 8,
	STAT_WORDS_IDLE = __builtin_offsetof(struct core_stat, entries) / 8, /* those before are of one moment, or
	                                                                        fixed */
	STAT_WORD_SEQUENCE = __builtin_offsetof(struct core_stat, sequence) / 8,
};

#ifndef STAT_PAUSE
#define STAT_PAUSE() __builtin_ia32_pause()
#endif

/*
 * Reads a core's record, which the core may be writing, and brings its idle
 * time up to `now`, a clock of TSC cycles. Idle time never falls from one read
 * to the next, and no interval is counted twice. Words that only +stat images
 * write are read where there are some.
 *
 * The reader of a seqlock, whose writer is in the kernel's core/idle.h. Order:
 * take `now`, load the sequence, load the fields, load the sequence again; all
 * of it again unless both were the same even number. The writer makes the
 * sequence odd, takes its time, writes the fields. So a change that these
 * fields do not show yet has a time after `now`: what is added up to `now`
 * cannot go beyond the end of an interval.
 */
static inline void stat_read(const volatile struct core_stat *from, struct core_stat *to, uint64_t (*now)(void))
{
	const volatile uint64_t *word = (const volatile uint64_t *)from;
	unsigned words = from->entries ? STAT_WORDS : STAT_WORDS_PLAIN;
	uint64_t time, updated, cycles, since, sequence;
	for (unsigned i = STAT_WORDS_IDLE; i < words; i++)
		if (i != STAT_WORD_SEQUENCE)
			((uint64_t *)to)[i] = word[i];
	for (;;) {
		time = now();
		sequence = atomic_load_explicit(&from->sequence, memory_order_acquire);
		cycles = atomic_load_explicit(&from->idle_cycles, memory_order_acquire);
		since = atomic_load_explicit(&from->idle_since, memory_order_acquire);
		updated = atomic_load_explicit(&from->updated, memory_order_acquire);
		if (sequence % 2 == 0 && atomic_load_explicit(&from->sequence, memory_order_relaxed) == sequence)
			break;
		while (atomic_load_explicit(&from->sequence, memory_order_relaxed) % 2)
			STAT_PAUSE();
	}
	to->started = from->started;
	to->idle_since = since;
	time = time > updated ? time : updated; /* it has stopped to idle since: the cycles are up to that moment */
	to->updated = time;
	to->idle_cycles = since && time > since ? cycles + (time - since) : cycles;
	to->sequence = sequence;
}
