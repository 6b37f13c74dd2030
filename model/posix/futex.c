/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Futexes of the POSIX layer's form for several cores (apps/libc/posix/futex-buckets.c), over two buckets. A thread
 * that sleeps for ever has missed its wake-up. A waker's count says how many threads return from their wait because of
 * it.
 */
#include <errno.h>
#include <limits.h>
#include "layer-model.h"

enum { SOON = 10, WORDS = 3 };

static uint32_t words[64]; /* the explorer's program is linked at fixed addresses, so are their buckets */
static uint32_t *word[WORDS];
static _Atomic bool cancelled;
static int result[EXPLORE_THREADS], count[EXPLORE_THREADS]; /* each thread's own */

bool thread_cancelled(const struct thread *thread)
{
	return thread->index == 0 && atomic_load_explicit(&cancelled, memory_order_relaxed);
}

/* The buckets' locks are the machine's (bucket-lock.h). */
void platform_lock_sleep(unsigned self) { explore_fail("thread %u sleeps at a lock", self); }
void platform_lock_wake(unsigned thread) { explore_fail("thread %u is woken at a lock", thread); }

/* As bucket_of(): an address of each bucket, and word 2 in the bucket of word 0. */
static void set_up(void)
{
	model_set_up();
	for (unsigned i = 0; i < 64; i++) {
		const unsigned bucket = (uint32_t)((uintptr_t)&words[i] >> 2) * 0x9e3779b9u >> 31;
		if (!bucket && word[0])
			word[2] = &words[i];
		else
			word[bucket] = &words[i];
	}
	EXPLORE_CHECK(word[0] && word[1] && word[2], "a bucket has too few words");
	explore_name(word[0], sizeof(*word[0]), "word 0");
	explore_name(word[1], sizeof(*word[1]), "word 1");
	explore_name(&cancelled, sizeof(cancelled), "cancelled");
}

static void set(unsigned i) { __atomic_store_n(word[i], 1, __ATOMIC_RELAXED); }
static bool is_set(unsigned i) { return __atomic_load_n(word[i], __ATOMIC_RELAXED); }

static void wait_until_set(unsigned i)
{
	while (!is_set(i))
		futex_wait(word[i], 0, 0);
}

/* The waker comes before, while or after the others begin to wait. */
static void one_waits(unsigned self)
{
	if (self == 0) {
		wait_until_set(0);
	} else {
		set(0);
		futex_wake(word[0], 1);
	}
}

static void all_are_woken(unsigned self)
{
	if (self < 2) {
		wait_until_set(0);
	} else {
		set(0);
		futex_wake(word[0], INT_MAX);
	}
}

/* Two calls for one thread each wake two threads. */
static void one_by_one(unsigned self)
{
	if (self < 2) {
		wait_until_set(0);
	} else {
		set(0);
		futex_wake(word[0], 1);
		futex_wake(word[0], 1);
	}
}

/* The waker goes from one to the other, which is slow to come back. */
static void two_words(unsigned self)
{
	if (self == 0) {
		wait_until_set(0);
		wait_until_set(1);
	} else {
		set(0);
		futex_wake(word[0], 1);
		set(1);
		futex_wake(word[1], 1);
	}
}

/* Threads that wait at two words of one bucket: each is woken for its own. */
static void neighbours(unsigned self)
{
	static const unsigned at[] = { 2, 0, 2 };

	if (self < 3) {
		result[self] = futex_wait(word[at[self]], 0, 0);
	} else {
		set(0);
		count[0] = futex_wake(word[0], INT_MAX);
		set(2);
		count[2] = futex_wake(word[2], INT_MAX);
	}
}

static void each_for_its_own(void)
{
	EXPLORE_CHECK(count[0] == (result[1] == 0), "%d woken at word 0", count[0]);
	EXPLORE_CHECK(count[2] == (result[0] == 0) + (result[2] == 0), "%d woken at word 2", count[2]);
}

/* Whoever waits at the first word is moved to the other, and woken there. */
static void moved_and_woken(unsigned self)
{
	if (self == 0) {
		result[0] = futex_wait(word[0], 0, 0);
	} else {
		set(0);
		count[1] = futex_requeue(word[0], word[1], 0, INT_MAX, 0);
		count[2] = futex_wake(word[1], INT_MAX);
	}
}

static void moved_is_woken(void)
{
	EXPLORE_CHECK(count[1] == count[2], "%d threads were moved, and %d woken", count[1], count[2]);
	EXPLORE_CHECK(result[0] == (count[2] ? 0 : -EAGAIN), "the wait ends with %d", result[0]);
}

/* The first is woken, the other moved, as pthread_cond_broadcast() does. */
static void woken_and_moved(unsigned self)
{
	if (self < 2) {
		result[self] = futex_wait(word[0], 0, 0);
	} else {
		set(0);
		count[2] = futex_requeue(word[0], word[1], 1, INT_MAX, 0);
		count[3] = futex_wake(word[1], INT_MAX);
	}
}

static void all_but_one_moved(void)
{
	const int waited = (result[0] == 0) + (result[1] == 0);

	EXPLORE_CHECK(count[2] == waited && count[3] == (waited == 2),
	              "%d waited, %d woken or moved, %d of these moved", waited, count[2], count[3]);
}

/* Within one bucket; none is moved twice. */
static void moved_within(unsigned self)
{
	if (self < 2) {
		result[self] = futex_wait(word[0], 0, 0);
	} else {
		set(0);
		count[2] = futex_requeue(word[0], word[2], 0, INT_MAX, 0);
		count[3] = futex_requeue(word[2], word[2], 0, 3, 0);
		count[1] = futex_wake(word[2], INT_MAX);
	}
}

static void all_moved_within(void)
{
	const int waited = (result[0] == 0) + (result[1] == 0);

	EXPLORE_CHECK(count[2] == waited && count[3] == waited && count[1] == waited,
	              "%d waited, %d and %d moved, %d woken", waited, count[2], count[3], count[1]);
}

static void both_directions(unsigned self)
{
	futex_requeue(word[self], word[1 - self], 1, 1, 0);
}

/* A requeue for a value that has changed does nothing. */
static void compared(unsigned self)
{
	static const uint32_t zero, one = 1;

	if (self == 0) {
		result[0] = futex_wait(word[0], 0, 0);
	} else {
		set(0);
		count[0] = futex_requeue(word[0], word[1], 1, 0, &zero);
		count[1] = futex_requeue(word[0], word[1], 1, 0, &one);
	}
}

static void compared_with_the_word(void)
{
	EXPLORE_CHECK(count[0] == -EAGAIN, "a requeue for another value ends with %d", count[0]);
	EXPLORE_CHECK(count[1] == (result[0] == 0), "%d wake-ups, and the wait ends with %d", count[1], result[0]);
}

/* The deadline of a thread that waits for ever passes, while another wakes it. */
static void gives_up(unsigned self)
{
	if (self == 0)
		result[0] = futex_wait(word[0], 0, SOON);
	else if (self == 1)
		model_set_time(SOON);
	else
		count[2] = futex_wake(word[0], 1);
}

static void woken_or_late(void)
{
	EXPLORE_CHECK(result[0] == (count[2] ? 0 : -ETIMEDOUT), "%d woken, and the wait ends with %d", count[2],
	              result[0]);
	EXPLORE_CHECK(!futex_wake(word[0], 1) && !futex_wake(word[1], 1), "the thread waits, and has returned");
}

/* The deadline has passed, so the thread comes back before it is signalled, and waits again. */
static void late_and_again(unsigned self)
{
	if (self == 0) {
		result[0] = futex_wait(word[0], 0, SOON);
		wait_until_set(1);
	} else if (self == 1) {
		model_set_time(SOON);
	} else {
		count[2] = futex_wake(word[0], 1);
		set(1);
		futex_wake(word[1], 1);
	}
}

/* The last of a queue gives up, and comes again. */
static void last_again(unsigned self)
{
	if (self == 0) {
		wait_until_set(0);
	} else if (self == 1) {
		futex_wait(word[0], 0, SOON);
		wait_until_set(0);
	} else {
		model_set_time(SOON);
		set(0);
		futex_wake(word[0], INT_MAX);
	}
}

/* The same, while it is moved. */
static void gives_up_elsewhere(unsigned self)
{
	if (self == 0) {
		result[0] = futex_wait(word[0], 0, SOON);
	} else if (self == 1) {
		model_set_time(SOON);
	} else {
		futex_requeue(word[0], word[1], 0, 1, 0);
		count[2] = futex_wake(word[1], 1);
	}
}

static void gives_up_moved(unsigned self)
{
	if (self == 0)
		result[0] = futex_wait(word[0], 0, SOON);
	else if (self == 1)
		model_set_time(SOON);
	else
		futex_requeue(word[0], word[1], 0, 1, 0);
}

/* pthread_cancel() and a wake-up. */
static void is_cancelled(unsigned self)
{
	if (self == 0) {
		result[0] = futex_wait(word[0], 0, 0);
	} else if (self == 1) {
		atomic_store_explicit(&cancelled, true, memory_order_relaxed);
		platform_signal(0); /* thread_interrupt() */
	} else {
		count[2] = futex_wake(word[0], 1);
	}
}

static void woken_or_cancelled(void)
{
	EXPLORE_CHECK(result[0] == (count[2] ? 0 : -EINTR), "%d woken, and the wait ends with %d", count[2], result[0]);
}

static void nothing(void) {}

#define FUTEX_CASE(function, threads, check)             \
	static void run_##function(unsigned self)        \
	{                                                \
		function(self);                          \
		model_ended();                           \
	}                                                \
	static void end_##function(void)                 \
	{                                                \
		model_all_ended(threads);                \
		check();                                 \
	}

FUTEX_CASE(one_waits, 2, nothing)
FUTEX_CASE(all_are_woken, 3, nothing)
FUTEX_CASE(one_by_one, 3, nothing)
FUTEX_CASE(two_words, 2, nothing)
FUTEX_CASE(neighbours, 4, each_for_its_own)
FUTEX_CASE(woken_and_moved, 3, all_but_one_moved)
FUTEX_CASE(moved_within, 3, all_moved_within)
FUTEX_CASE(last_again, 3, nothing)
FUTEX_CASE(late_and_again, 3, woken_or_late)
FUTEX_CASE(moved_and_woken, 2, moved_is_woken)
FUTEX_CASE(both_directions, 2, nothing)
FUTEX_CASE(compared, 2, compared_with_the_word)
FUTEX_CASE(gives_up, 3, woken_or_late)
FUTEX_CASE(gives_up_elsewhere, 3, woken_or_late)
FUTEX_CASE(gives_up_moved, 3, woken_or_late)
FUTEX_CASE(is_cancelled, 3, woken_or_cancelled)

static const struct explore_case cases[] = {
	{ .name = "one waits", RUN(2, 0, one_waits) },
	{ .name = "all are woken", RUN(3, 0, all_are_woken) },
	{ .name = "one by one", RUN(3, 0, one_by_one) },
	{ .name = "two words", RUN(2, 0, two_words) },
	{ .name = "neighbours in a bucket", RUN(4, 0, neighbours) },
	{ .name = "one woken, one moved", RUN(3, 0, woken_and_moved) },
	{ .name = "moved within a bucket", RUN(3, 0, moved_within) },
	{ .name = "moved and woken", RUN(2, 0, moved_and_woken) },
	{ .name = "moved in both directions", RUN(2, 0, both_directions) },
	{ .name = "a requeue that compares", RUN(2, 0, compared) },
	{ .name = "a deadline", RUN(3, 0, gives_up) },
	{ .name = "a deadline, and another wait", RUN(3, 0, late_and_again) },
	{ .name = "the last gives up, and comes again", RUN(3, 0, last_again) },
	{ .name = "a deadline of a thread that is moved", RUN(3, 0, gives_up_elsewhere) },
	{ .name = "a deadline of a thread that nobody wakes", RUN(3, 0, gives_up_moved) },
	{ .name = "a cancelled thread", RUN(3, 0, is_cancelled) },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
