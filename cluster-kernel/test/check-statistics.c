/* SPDX-License-Identifier: BSD-2-Clause */
/* What images count, of each core of a kernel at rest. */
#include <string.h>
#include "check.h"

static bool regime(const char *name) { return !strcmp(REGIME_HEADER, name); }

static uint64_t sum(const uint64_t *counts, unsigned number)
{
	uint64_t all = 0;
	while (number--)
		all += counts[number];
	return all;
}

static void check_lock(const struct lock_stat *lock, unsigned class)
{
	CHECK(lock->conflicts <= lock->acquisitions, "more conflicts than acquisitions", class, lock->conflicts);
	CHECK((lock->spins == 0) == (lock->conflicts == 0), "conflicts are acquisitions that waited", class,
	      lock->conflicts);
	CHECK(lock->spins_max <= lock->spins && lock->wait_max <= lock->wait && lock->hold_max <= lock->hold,
	      "the greatest of all is part of their sum", class, lock->spins_max);
	CHECK(sum(lock->wait_log2, STAT_BUCKETS) == lock->acquisitions, "each acquisition is in the histogram of waits",
	      class, lock->acquisitions);
	CHECK(sum(lock->hold_log2, STAT_BUCKETS) == lock->acquisitions, "each lock was given up again", class,
	      lock->acquisitions);
}

/* An entry takes the big lock, or commits. Of a reader/writer lock it takes the readers' side, and then perhaps the
 * other. */
static void check_entries(const struct core_stat *stat, unsigned core)
{
	const struct transaction_stat *t = &stat->transactions;
	uint64_t acquisitions = stat->lock[LOCK_CLASS_KERNEL].acquisitions, served = stat->syscalls + stat->interrupts;
	CHECK(served <= stat->entries, "something was served without an entry", served, stat->entries);
	if (regime("clh.h") || regime("ticket.h") || regime("mcs.h"))
		CHECK(acquisitions == stat->entries, "acquisitions are not entries", acquisitions, stat->entries);
	if (regime("fine.h")) {
		uint64_t read = stat->lock[LOCK_CLASS_READ].acquisitions,
		         write = stat->lock[LOCK_CLASS_WRITE].acquisitions;
		CHECK(read == stat->entries, "read acquisitions are not entries", read, stat->entries);
		CHECK(write <= stat->entries, "an entry writes once", write, stat->entries);
	}
	if (regime("dynamic.h")) { /* one of the two, or while the granularity changes both */
		uint64_t read = stat->lock[LOCK_CLASS_READ].acquisitions,
		         write = stat->lock[LOCK_CLASS_WRITE].acquisitions;
		CHECK(read <= stat->entries, "more read acquisitions than entries", read, stat->entries);
		CHECK(acquisitions + read >= stat->entries, "an entry took no lock", acquisitions + read,
		      stat->entries);
		CHECK(acquisitions <= stat->entries + read,
		      "an entry that was no reader before took the big lock twice", acquisitions, stat->entries);
		CHECK(write <= stat->entries, "an entry writes once", write, stat->entries);
	}
	if (!regime("rtm.h")) {
		CHECK(t->begun == 0 && t->fallbacks == 0, "a transaction, without any", core, t->begun);
		return;
	}
	CHECK(t->committed + t->fallbacks == stat->entries, "commits and fallbacks are not entries", t->fallbacks,
	      stat->entries);
	CHECK(t->begun == t->committed + sum(t->aborted, ABORT_CAUSES), "a transaction neither committed nor aborted",
	      core, t->begun);
	CHECK(acquisitions == t->fallbacks, "a fallback takes the lock", acquisitions, t->fallbacks);
}

static void check_nothing(const struct core_stat *stat, unsigned core)
{
	const uint64_t *word = (const uint64_t *)stat;
	const unsigned sequence = __builtin_offsetof(struct core_stat, sequence) / 8; /* of idle time, which all have */
	const unsigned layout = __builtin_offsetof(struct core_stat, layout) / 8;
	for (unsigned i = __builtin_offsetof(struct core_stat, entries) / 8; i < sizeof(*stat) / 8; i++)
		CHECK(i == sequence || i == layout || word[i] == 0, "an image that does not count has counted", core,
		      i);
}

void check_statistics(const struct world *world)
{
	int64_t instances[LOCK_CLASSES] = { 0 };
	for (unsigned core = 0; core < world->kernel->cpu_count; core++) {
		const struct core_stat *stat = world->kernel->cpu[core]->own.stat;
		CHECK(stat->sequence % 2 == 0, "a core at rest is writing its idle time", core, stat->sequence);
		if (strcmp(COUNT_HEADER, "count/on.h")) {
			check_nothing(stat, core);
			continue;
		}
		for (unsigned class = 0; class < LOCK_CLASSES; class++) {
			check_lock(&stat->lock[class], class);
			instances[class] += stat->lock[class].instances;
		}
		check_entries(stat, core);
	}
	for (unsigned class = 0; class < LOCK_CLASSES; class++)
		CHECK(instances[class] >= 0, "more locks destroyed than made", class, instances[class]);
}
