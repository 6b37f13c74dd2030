/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A big-reader lock (Elphinstone 2016, section 3.3). Each core has a ticket lock, its side. A reader takes its own core's
 * side alone; without a writer, no other core touches the cache line of that side. A writer takes all sides. Usable
 * alone, as ticket_lock.h.
 *
 * Exclusion: a writer that holds all sides holds each reader's, so that no reader is inside. Memory order is that of the
 * ticket locks: a side's release synchronises with its next acquisition. A writer acquires all sides, so it sees what all
 * earlier readers and writers wrote. A reader sees what earlier writers wrote, since each of them released the reader's
 * side.
 */
#ifndef BRLOCK_H /* the explorer puts a copy with a mistake in its place */
#define BRLOCK_H

#include <stdbool.h>
#include "ticket_lock.h"

enum { BRLOCK_MAX = 64 };

struct brlock {
	uint32_t count;
	struct ticket_lock *side[BRLOCK_MAX]; /* each in a line of its own */
};

/* What a writer waited for. */
struct brlock_conflict {
	bool writer;      /* another one */
	uint64_t readers; /* how many of them */
	uint64_t spins;
};

static inline void brlock_init(struct brlock *lock) { lock->count = 0; }
/* Before any core takes the lock. */
static inline void brlock_join(struct brlock *lock, struct ticket_lock *side) { lock->side[lock->count++] = side; }

/* Returns the spin count. */
static inline __attribute__((always_inline)) uint64_t brlock_read(struct ticket_lock *side, struct cpu *waiter)
{
	uint32_t ticket;
	return ticket_take(side, &ticket, waiter);
}
static inline __attribute__((always_inline)) void brlock_read_end(struct ticket_lock *side) { ticket_release_current(side); }

/*
 * Takes all sides, in the order in which they joined. Hazard: deadlock of two writers, each with a side that the other
 * wants. Both begin with the first side, so one of them waits there while it holds no other side, and the other one waits
 * only for readers. The caller must not hold its own core's side: it would wait for itself.
 */
static inline __attribute__((always_inline)) struct brlock_conflict brlock_write(struct brlock *lock, struct cpu *waiter)
{
	struct brlock_conflict conflict = { .spins = 0 };
	for (unsigned i = 0; i < lock->count; i++) {
		uint32_t ticket;
		uint64_t spins = ticket_take(lock->side[i], &ticket, waiter);
		conflict.writer |= spins && !i;
		conflict.readers += spins && i;
		conflict.spins += spins;
	}
	return conflict;
}
static inline __attribute__((always_inline)) void brlock_write_end(struct brlock *lock)
{
	for (unsigned i = lock->count; i-- > 0;)
		ticket_release_current(lock->side[i]);
}

#endif
