/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views of records (stat.h), for the events of a run (docs/lock-statistics.md). They walk the tables that are generated
 * from stat.h (lib/stat), so that each counter appears here under its name there.
 */
#pragma once

#include <skerry/format.h>
#include <skerry/stat.h>

/* Adds a core's record to a sum: of maxima the greatest. Moments are those of no core in particular: they stay. */
void stat_add(struct core_stat *sum, const struct core_stat *of);

/* Returns the sum over the locks of the kernel as a whole, whichever its regime has. */
struct lock_stat stat_kernel_locks(const struct core_stat *stat);

/* Appends a core of the event "stats": an object, with the kernel's own locks as one ("lock_acquisitions"). */
void stat_json_core(struct text *text, unsigned cpu, unsigned core, const struct core_stat *stat);

/* Appends the member "words" of the event "locks", with its comma: the words that are not 0, each behind its place. */
void stat_json_words(struct text *text, const struct core_stat *stat);
