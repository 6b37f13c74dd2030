/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core's idle time, in its record. Only the core itself writes it. Other cores read it at any time
 * (skerry/stat_read.h); while the core idles they add the time since `idle_since`.
 *
 * Hazard: a torn read. idle_end() moves an interval from `idle_since` into
 * `idle_cycles`; a reader that saw the new sum beside the old begin would count
 * the interval twice. So the fields are written as under a seqlock: `sequence`
 * is odd from before the first store until after the last, and a reader repeats
 * until it has read all of them under one even sequence.
 *
 * idle_begin() and idle_end() return the time, from `clock`.
 */
#pragma once

#include <stdatomic.h>
#include <skerry/stat.h>

/*
 * Makes the sequence odd and returns it. The caller then reads the clock, writes the fields, and stores the next, even
 * number.
 *
 * Hazard: store buffering. A plain store could still be in the store buffer
 * when the time is taken; a reader with a later time would find the sequence
 * even and the interval still open, and count beyond its end. The exchange
 * completes before the clock is read.
 */
static inline uint64_t idle_change(struct core_stat *stat)
{
	uint64_t sequence = atomic_load_explicit(&stat->sequence, memory_order_relaxed) + 1;
	atomic_exchange_explicit(&stat->sequence, sequence, memory_order_acq_rel);
	return sequence;
}

/* Each field is a release store: a reader that sees a new field also sees the odd sequence when it loads that again. */
static inline uint64_t idle_begin(struct core_stat *stat, uint64_t (*clock)(void))
{
	uint64_t sequence = idle_change(stat), now = clock();
	atomic_store_explicit(&stat->idle_since, now, memory_order_release);
	atomic_store_explicit(&stat->sequence, sequence + 1, memory_order_release);
	return now;
}

static inline uint64_t idle_end(struct core_stat *stat, uint64_t (*clock)(void))
{
	uint64_t sequence = idle_change(stat), now = clock();
	uint64_t cycles = now - atomic_load_explicit(&stat->idle_since, memory_order_relaxed);
	uint64_t before = atomic_load_explicit(&stat->idle_cycles, memory_order_relaxed);
	atomic_store_explicit(&stat->idle_cycles, before + cycles, memory_order_release);
	atomic_store_explicit(&stat->idle_since, 0, memory_order_release);
	atomic_store_explicit(&stat->updated, now, memory_order_release);
	atomic_store_explicit(&stat->sequence, sequence + 1, memory_order_release);
	return now;
}

/* Starts the record of an idle core. No other core may read the record yet. */
static inline void idle_start(struct core_stat *stat, uint64_t now)
{
	stat->layout = STAT_LAYOUT;
	stat->started = now;
	atomic_store_explicit(&stat->updated, now, memory_order_relaxed);
	atomic_store_explicit(&stat->idle_since, now, memory_order_relaxed);
}
