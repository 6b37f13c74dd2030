/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader (skerry/stat_read.h) while a core stops to idle and begins again
 * (core/idle.h): idle time never goes back, and of no interval more than it is.
 */
#include "explore.h"
#define STAT_PAUSE() explore_relax()
#include <skerry/stat_read.h>
#include "idle.h"

enum { READS = 2 };

static struct core_stat stat;
/* the clock that all cores share; a core that reads it has executed all that precedes the read */
static _Atomic uint64_t ticks;
static uint64_t busy;          /* the core's own account */

static uint64_t look(void) { return atomic_fetch_add_explicit(&ticks, 1, memory_order_acq_rel); }

static void begin(void)
{
	busy = 0;
	ticks = 1;
	idle_start(&stat, look());
	explore_name(&stat, sizeof(stat), "record");
	explore_name(&ticks, sizeof(ticks), "clock");
}

static void core(void)
{
	uint64_t since = idle_end(&stat, look);
	busy += idle_begin(&stat, look) - since;
}

static void reader(void)
{
	uint64_t before = 0, moment = 1;
	for (unsigned i = 0; i < READS; i++) {
		struct core_stat told = { 0 };
		stat_read(&stat, &told, look);
		uint64_t idle = told.idle_cycles, now = told.updated;
		EXPLORE_CHECK(idle >= before, "idle time went back from %llu to %llu", (unsigned long long)before,
		              (unsigned long long)idle);
		EXPLORE_CHECK(idle - before <= now - moment, "of %llu cycles the core idled %llu",
		              (unsigned long long)(now - moment),
		              (unsigned long long)(idle - before));
		before = idle;
		moment = now;
	}
}

static void both(unsigned self) { self ? reader() : core(); }

/* What is read of a core at rest is what it says itself. */
static void end(void)
{
	struct core_stat told = { 0 };
	stat_read(&stat, &told, look);
	EXPLORE_CHECK(told.idle_cycles + busy == told.updated - told.started,
	              "%llu cycles idle and %llu busy are not %llu",
	              (unsigned long long)told.idle_cycles, (unsigned long long)busy,
	              (unsigned long long)(told.updated - told.started));
}

static const struct explore_case cases[] = {
	{ "two reads of a core that is busy for a while", 2, both, .begin = begin, .end = end },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
