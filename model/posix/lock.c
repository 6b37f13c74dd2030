/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock of the POSIX layer's form for several cores (apps/libc/posix/lock.h). A thread that sleeps for ever has
 * missed its wake-up; what the lock guards is plain memory, so that a release or an acquisition that orders nothing is
 * a data race.
 */
#define LOCK_SPINS 0 /* turns of a loop that only passes time */
#include "layer-model.h"

static struct lock lock;
static unsigned inside, entries; /* the lock protects them */

void platform_lock_sleep(unsigned self) { platform_wait(self, 0); }
void platform_lock_wake(unsigned thread) { platform_signal(thread); }

static void set_up(void)
{
	model_set_up();
	explore_name(&lock.state, sizeof(lock.state), "state");
	explore_name(&lock.sleepers, sizeof(lock.sleepers), "sleepers");
	explore_name(&lock.last, sizeof(lock.last), "last");
}

static void take(unsigned self)
{
	if (!lock_try(&lock))
		lock_wait(&lock, self);
	EXPLORE_CHECK(!inside++, "two threads have the lock");
}

static void give(void)
{
	entries++;
	inside--;
	lock_give(&lock);
}

static void once(unsigned self)
{
	take(self);
	give();
}

static void twice(unsigned self)
{
	once(self);
	once(self);
}

/* The holder sleeps, as in a page fault, until a thread that needs no lock wakes it. */
static void holder_sleeps(unsigned self)
{
	if (self == 0) {
		take(self);
		platform_wait(MODEL_PEER, 0);
		give();
	} else if (self == 1) {
		once(self);
	} else {
		platform_signal(MODEL_PEER);
		once(self);
	}
}

/* A thread that takes the lock by the fast path, whenever it is free, beside two that may sleep. */
static void overtaken(unsigned self)
{
	if (self < 2) {
		once(self);
	} else if (lock_try(&lock)) {
		EXPLORE_CHECK(!inside++, "two threads have the lock");
		give();
	}
}

static void check_free(void)
{
	EXPLORE_CHECK(!lock_is_held(&lock) && !atomic_load(&lock.sleepers), "the lock is not as before");
}

#define LOCK_CASE(function, count)                       \
	static void run_##function(unsigned self)        \
	{                                                \
		function(self);                          \
		model_ended();                           \
	}                                                \
	static void end_##function(void)                 \
	{                                                \
		model_all_ended(count);                  \
		check_free();                            \
	}

LOCK_CASE(once, 3)
LOCK_CASE(twice, 2)
LOCK_CASE(holder_sleeps, 3)
LOCK_CASE(overtaken, 3)

static const struct explore_case cases[] = {
	{ .name = "two, twice", RUN(2, 0, twice) },
	{ .name = "three", RUN(3, 0, once) },
	{ .name = "a holder that sleeps", RUN(3, 0, holder_sleeps) },
	{ .name = "one that overtakes", RUN(3, 0, overtaken) },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
