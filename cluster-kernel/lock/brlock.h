/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A big-reader lock (Elphinstone 2016, section 3.3). Each core has a ticket lock, its side. A reader takes its own
 * core's side alone; without a writer, no other core touches the cache line of that side. A writer takes the lock of
 * the writers, another ticket lock, and then all sides. Usable alone, as ticket_lock.h.
 *
 * Exclusion: a writer that holds all sides holds each reader's, so that no reader is inside. Memory order is that of
 * the ticket locks: a side's release synchronises with its next acquisition. A writer acquires all sides, so it sees
 * what all earlier readers and writers wrote. A reader sees what earlier writers wrote, since each of them released the
 * reader's side.
 *
 * Fairness: a reader waits from when its side is taken until it is released. A writer takes some lines of other cores
 * for each side. So it releases sides in the order in which it took them, and each writer begins with the side after
 * the one that the writer before it began with: no core waits for longer than others because of its number.
 */
#ifndef BRLOCK_H /* the explorer puts a copy with a mistake in its place */
#define BRLOCK_H

#include <stdbool.h>
#include "ticket_lock.h"

enum { BRLOCK_MAX = 1024 };

struct brlock {
	struct ticket_lock writers;
	uint32_t count;
	/* of the sides: the one with which the present writer began, or the last one; guarded by `writers` */
	uint32_t first;
	struct ticket_lock *side[BRLOCK_MAX]; /* each in a line of its own */
};

/* What a writer waited for. */
struct brlock_conflict {
	bool writer;      /* another one */
	uint64_t readers; /* how many of them */
	uint64_t spins;
};

static inline void brlock_init(struct brlock *lock)
{
	ticket_lock_init(&lock->writers);
	lock->count = lock->first = 0;
}
/* Before any core takes the lock. */
static inline void brlock_join(struct brlock *lock, struct ticket_lock *side) { lock->side[lock->count++] = side; }

/* Returns the spin count. */
static inline __attribute__((always_inline)) uint64_t brlock_read(struct ticket_lock *side, struct cpu *waiter)
{
	uint32_t ticket;
	return ticket_take(side, &ticket, waiter);
}
static inline __attribute__((always_inline)) void brlock_read_end(struct ticket_lock *side)
{
	ticket_release_current(side);
}

static inline uint32_t brlock_after(const struct brlock *lock, uint32_t side)
{
	return side + 1 < lock->count ? side + 1 : 0;
}

/*
 * Takes all sides. Hazard: deadlock of two writers, each with a side that the other wants. Both take the lock of the
 * writers first, so one of them waits there while it holds no side, and the other one waits only for readers. The
 * caller must not hold its own core's side: it would wait for itself.
 */
static inline __attribute__((always_inline)) struct brlock_conflict brlock_write(struct brlock *lock,
	struct cpu *waiter)
{
	uint32_t ticket;
	struct brlock_conflict conflict = { .spins = ticket_take(&lock->writers, &ticket, waiter) };
	conflict.writer = conflict.spins;
	uint32_t side = lock->first = brlock_after(lock, lock->first);
	for (uint32_t taken = 0; taken < lock->count; taken++, side = brlock_after(lock, side)) {
		uint64_t spins = ticket_take(lock->side[side], &ticket, waiter);
		conflict.readers += spins != 0;
		conflict.spins += spins;
	}
	return conflict;
}
static inline __attribute__((always_inline)) void brlock_write_end(struct brlock *lock)
{
	uint32_t side = lock->first;
	for (uint32_t left = lock->count; left > 0; left--, side = brlock_after(lock, side))
		ticket_release_current(lock->side[side]);
	ticket_release_current(&lock->writers);
}

#endif
