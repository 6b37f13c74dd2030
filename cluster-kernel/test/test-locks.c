/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each lock of ../lock/ alone, without the kernel: threads of the host add to plain memory, which the thread sanitizer
 * watches. A lock that fails to exclude loses additions, and is a data race even where it happens to lose none.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include "ticket_lock.h"

/* The big-reader lock's use of ticket locks is recorded. */
static void recorded_release(struct ticket_lock *lock);
static uint64_t recorded_take(struct ticket_lock *lock, uint32_t *drawn, struct cpu *waiter);
#define ticket_release_current recorded_release
#define ticket_take recorded_take
#include "brlock.h"
#undef ticket_release_current
#undef ticket_take

#include "clh_lock.h"
#include "dynamic_lock.h"
#include "mcs_lock.h"

enum { THREADS = 4, ROUNDS = 4000, DYNAMIC_ROUNDS = 500 };

static void (*when_waiting)(void);

/* What a waiter is, is the user's: here nothing. */
void kernel_relax(struct cpu *waiter)
{
	(void)waiter;
	if (when_waiting)
		when_waiting();
	else
		sched_yield();
}

static struct clh_lock clh;
static struct clh_place place[THREADS];
static struct mcs_lock mcs;
static struct mcs_node node[THREADS];
static struct ticket_lock ticket;
static struct brlock big_reader;
static struct { _Alignas(64) struct ticket_lock lock; } side[THREADS];
static struct epochs epochs;
static struct dynamic_lock dynamic;
static _Atomic uint32_t finished;
static struct { _Alignas(64) struct dynamic_place own; } home[THREADS];

static uint64_t guarded, seen[THREADS]; /* `guarded`: by the lock that is tested */

static void with_clh(unsigned self, unsigned round)
{
	(void)round;
	clh_take(&clh, &place[self], 0);
	guarded++;
	clh_release(&place[self]);
}
static void with_mcs(unsigned self, unsigned round)
{
	(void)round;
	mcs_take(&mcs, &node[self], 0);
	guarded++;
	mcs_release(&mcs, &node[self], 0);
}
static void with_ticket(unsigned self, unsigned round)
{
	uint32_t mine;
	(void)self;
	ticket_take(&ticket, &mine, 0);
	guarded++;
	if (round % 2)
		ticket_release(&ticket, mine);
	else
		ticket_release_current(&ticket);
}
/* Every fourth entry writes; the others find an even number, as writers leave it. */
static void with_brlock(unsigned self, unsigned round)
{
	if (round % 4 == 0) {
		brlock_write(&big_reader, 0);
		guarded++;
		guarded++;
		guarded += 2;
		brlock_write_end(&big_reader);
	} else {
		brlock_read(&side[self].lock, 0);
		seen[self] |= guarded;
		brlock_read_end(&side[self].lock);
	}
}

/* Switches the lock now and then, to each home and back. */
static void switch_dynamic(unsigned self, unsigned round)
{
	bool began; /* nobody is idle here: all pass epochs without being interrupted */
	if (round % 64 == 16 * self)
		dynamic_demote(&dynamic, &epochs, &home[self].own, (self + round / 64) % THREADS, &began);
	else if (round % 64 == (16 * self + 40) % 64)
		dynamic_promote(&dynamic, &epochs, &home[self].own, &began);
}
/* Others may wait for epochs until all are done. */
static void pass_to_the_end(unsigned self)
{
	atomic_fetch_add_explicit(&finished, 1, memory_order_relaxed);
	while (atomic_load_explicit(&finished, memory_order_relaxed) < THREADS) {
		epoch_pass(&epochs, &home[self].own.epoch);
		kernel_relax(0);
	}
}
/* A core to which the lock is away makes it enabled, and comes again: no addition is lost, in whichever state the lock
 * is. */
static void with_dynamic(unsigned self, unsigned round)
{
	enum dynamic_hold hold;
	bool began;
	epoch_pass(&epochs, &home[self].own.epoch);
	switch_dynamic(self, round);
	for (unsigned turns = 1; (hold = dynamic_take(&dynamic, &home[self].own, 0)) == DYNAMIC_AWAY; turns++) {
		if (turns % 64 == 0)
			dynamic_promote(&dynamic, &epochs, &home[self].own, &began);
		kernel_relax(0);
		epoch_pass(&epochs, &home[self].own.epoch);
	}
	guarded++;
	if (round % 16 == 0)
		kernel_relax(0); /* so that others switch it meanwhile */
	dynamic_release(&dynamic, hold);
	if (round == DYNAMIC_ROUNDS - 1)
		pass_to_the_end(self);
}

static void (*enter)(unsigned self, unsigned round);
static unsigned rounds;

static void *run(void *argument)
{
	unsigned self = (uintptr_t)argument;
	for (unsigned round = 0; round < rounds; round++)
		enter(self, round);
	return 0;
}

static unsigned reader, taken_before, order[THREADS];

static bool is_taken(unsigned i) { return atomic_load(&side[i].lock.next) != atomic_load(&side[i].lock.serving); }

/* The writer waits for the side of `reader`, which leaves. */
static void leave(void)
{
	taken_before = 0;
	for (unsigned i = 0; i < THREADS; i++)
		taken_before += i != reader && is_taken(i);
	brlock_read_end(&side[reader].lock);
}

/* Checks that, of as many writers as there are sides, each takes a side at another place in its order. */
static int unfair(void)
{
	when_waiting = leave;
	for (reader = 0; reader < THREADS; reader++) {
		unsigned seen_at = 0;
		for (unsigned round = 0; round < THREADS; round++) {
			brlock_read(&side[reader].lock, 0);
			struct brlock_conflict conflict = brlock_write(&big_reader, 0);
			order[round] = taken_before;
			seen_at |= 1u << taken_before;
			brlock_write_end(&big_reader);
			if (conflict.writer || conflict.readers != 1 || !conflict.spins)
				return printf("brlock: waited for %s and %llu readers, not for one reader\n",
				              conflict.writer ? "a writer" : "no writer",
					      (unsigned long long)conflict.readers);
		}
		if (seen_at != (1u << THREADS) - 1)
			return printf("brlock: side %u is taken after %u, %u, %u and %u others\n", reader, order[0],
			              order[1], order[2], order[3]);
	}
	when_waiting = 0;
	printf("ok brlock, no side is always first\n");
	return 0;
}

/* In which order one writer takes sides, and releases them; recorded while `recording`, which is set before there are
 * threads. */
static bool recording;
static unsigned taken[THREADS], released[THREADS], taken_count, released_count;

static void record(const struct ticket_lock *lock, unsigned *order_of, unsigned *count)
{
	for (unsigned i = 0; recording && i < THREADS; i++)
		if (lock == &side[i].lock && *count < THREADS)
			order_of[(*count)++] = i;
}

static uint64_t recorded_take(struct ticket_lock *lock, uint32_t *drawn, struct cpu *waiter)
{
	record(lock, taken, &taken_count);
	return ticket_take(lock, drawn, waiter);
}

static void recorded_release(struct ticket_lock *lock)
{
	record(lock, released, &released_count);
	ticket_release_current(lock);
}

/*
 * Checks that each writer releases the sides in the order in which it took them, so that each reader waits as long, and
 * that each side is the first one of as many writers as any other.
 */
static int out_of_order(void)
{
	unsigned first = 0;
	recording = true;
	for (unsigned round = 0; round < THREADS; round++) {
		taken_count = released_count = 0;
		brlock_write(&big_reader, 0);
		brlock_write_end(&big_reader);
		for (unsigned i = 0; i < THREADS; i++)
			if (taken_count != THREADS || released_count != THREADS || taken[i] != released[i])
				return printf("brlock: of %u sides taken and %u released, %u was taken and %u released "
				              "at place %u\n", taken_count,
					      released_count, taken[i], released[i], i);
		first |= 1u << released[0];
	}
	recording = false;
	if (first != (1u << THREADS) - 1)
		return printf("brlock: not each side is released first by some writer: %#x\n", first);
	printf("ok brlock, sides are released in the order in which they were taken\n");
	return 0;
}

static int failed(const char *name, void (*entry)(unsigned, unsigned), unsigned count)
{
	pthread_t thread[THREADS];
	uint64_t odd = 0;
	guarded = 0;
	enter = entry;
	rounds = count;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], 0, run, (void *)i);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], 0);
		odd |= seen[i] & 1;
	}
	if (guarded == THREADS * rounds && !odd) {
		printf("ok %s\n", name);
		return 0;
	}
	printf("%s: %llu of %u additions%s\n", name, (unsigned long long)guarded, THREADS * rounds,
	       odd ? ", a reader met a writer" : "");
	return 1;
}

int main(void)
{
	clh_lock_init(&clh);
	mcs_lock_init(&mcs);
	ticket_lock_init(&ticket);
	brlock_init(&big_reader);
	epochs_init(&epochs, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		dynamic_place_init(&home[i].own, i);
		clh_place_init(&place[i]);
		brlock_join(&big_reader, &side[i].lock);
	}
	if (unfair() || out_of_order())
		return 1;
	return failed("clh_lock", with_clh, ROUNDS) | failed("mcs_lock", with_mcs, ROUNDS) | failed("ticket_lock",
		with_ticket, ROUNDS) |
	       failed("brlock", with_brlock, ROUNDS) | failed("dynamic_lock", with_dynamic, DYNAMIC_ROUNDS);
}
