/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading what kernels count (stat.h) while they count. */
#pragma once

#include <skerry/stat.h>

enum { STAT_WORDS = sizeof(struct core_stat) / 8, STAT_WORDS_PLAIN = __builtin_offsetof(struct core_stat, transactions) / 8 };

/*
 * A core's record with its idle time brought up to `now`, a TSC. The core may be
 * writing meanwhile: what belongs together is read until it holds still, after the
 * time was, for a core that wakes between the two has idled up to that time, not
 * beyond: what is read later is never less. Words of +stat images are read where
 * there are some.
 */
static inline void stat_read(const volatile struct core_stat *from, struct core_stat *to, uint64_t (*now)(void))
{
	const volatile uint64_t *word = (const volatile uint64_t *)from;
	unsigned words = from->entries ? STAT_WORDS : STAT_WORDS_PLAIN;
	uint64_t time = 0;
	for (unsigned tries = 0; tries < 8; tries++) {
		time = now();
		for (unsigned i = 0; i < words; i++)
			((uint64_t *)to)[i] = word[i];
		if (from->idle_since == to->idle_since && from->idle_cycles == to->idle_cycles)
			break;
	}
	to->updated = time;
	if (to->idle_since && to->updated > to->idle_since)
		to->idle_cycles += to->updated - to->idle_since;
}

static inline void stat_greatest(uint64_t *greatest, uint64_t of)
{
	if (of > *greatest)
		*greatest = of;
}

static inline void lock_stat_add(struct lock_stat *sum, const struct lock_stat *of)
{
	sum->instances += of->instances;
	sum->grabs += of->grabs;
	sum->conflicts += of->conflicts;
	sum->spins += of->spins;
	sum->wait += of->wait;
	sum->hold += of->hold;
	stat_greatest(&sum->spins_max, of->spins_max);
	stat_greatest(&sum->wait_max, of->wait_max);
	stat_greatest(&sum->hold_max, of->hold_max);
	for (unsigned i = 0; i < STAT_BUCKETS; i++) {
		sum->wait_log2[i] += of->wait_log2[i];
		sum->hold_log2[i] += of->hold_log2[i];
	}
}

/* Counters of several cores: sums, of maxima the greatest. Times at which something was, are no counters. */
static inline void stat_add(struct core_stat *sum, const struct core_stat *of)
{
	sum->idle_cycles += of->idle_cycles;
	sum->entries += of->entries;
	sum->syscalls += of->syscalls;
	sum->interrupts += of->interrupts;
	sum->faults += of->faults;
	sum->switches += of->switches;
	sum->transactions.begun += of->transactions.begun;
	sum->transactions.committed += of->transactions.committed;
	sum->transactions.fallbacks += of->transactions.fallbacks;
	for (unsigned i = 0; i < ABORT_CAUSES; i++)
		sum->transactions.aborted[i] += of->transactions.aborted[i];
	sum->writers.after_writer += of->writers.after_writer;
	sum->writers.after_readers += of->writers.after_readers;
	sum->writers.readers += of->writers.readers;
	stat_greatest(&sum->writers.readers_max, of->writers.readers_max);
	for (unsigned i = 0; i < LOCK_CLASSES; i++)
		lock_stat_add(&sum->lock[i], &of->lock[i]);
}

/* Over the locks of the kernel as a whole, whichever its regime has. */
static inline struct lock_stat stat_kernel_locks(const struct core_stat *stat)
{
	struct lock_stat sum = { 0 };
	for (unsigned i = LOCK_CLASS_KERNEL; i <= LOCK_CLASS_WRITE; i++)
		lock_stat_add(&sum, &stat->lock[i]);
	return sum;
}
