/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each lock of ../lock/ alone, without the kernel: threads of the host add to plain memory, which the thread sanitizer
 * watches. A lock that fails to exclude loses additions, and is a data race even where it happens to lose none.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include "brlock.h"
#include "clh_lock.h"
#include "mcs_lock.h"
#include "ticket_lock.h"

enum { THREADS = 4, ROUNDS = 4000 };

/* What a waiter is, is the user's: here nothing. */
void kernel_relax(struct cpu *waiter)
{
	(void)waiter;
	sched_yield();
}

static struct clh_lock clh;
static struct clh_place place[THREADS];
static struct mcs_lock mcs;
static struct mcs_node node[THREADS];
static struct ticket_lock ticket;
static struct brlock big_reader;
static struct { _Alignas(64) struct ticket_lock lock; } side[THREADS];

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

static void (*enter)(unsigned self, unsigned round);

static void *run(void *argument)
{
	unsigned self = (uintptr_t)argument;
	for (unsigned round = 0; round < ROUNDS; round++)
		enter(self, round);
	return 0;
}

static int failed(const char *name, void (*entry)(unsigned, unsigned))
{
	pthread_t thread[THREADS];
	uint64_t odd = 0;
	guarded = 0;
	enter = entry;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], 0, run, (void *)i);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(thread[i], 0);
		odd |= seen[i] & 1;
	}
	if (guarded == THREADS * ROUNDS && !odd) {
		printf("ok %s\n", name);
		return 0;
	}
	printf("%s: %llu of %u additions%s\n", name, (unsigned long long)guarded, THREADS * ROUNDS, odd ? ", a reader met a writer" : "");
	return 1;
}

int main(void)
{
	clh_lock_init(&clh);
	mcs_lock_init(&mcs);
	ticket_lock_init(&ticket);
	brlock_init(&big_reader);
	for (unsigned i = 0; i < THREADS; i++) {
		clh_place_init(&place[i]);
		brlock_join(&big_reader, &side[i].lock);
	}
	return failed("clh_lock", with_clh) | failed("mcs_lock", with_mcs) | failed("ticket_lock", with_ticket) | failed("brlock", with_brlock);
}
