/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A big-reader lock (Elphinstone 2016, section 3.3): a ticket lock for each core, its side. A reader takes its own
 * core's side, whose line no other core touches unless there is a writer; a writer takes all of them, in the order in
 * which they joined. Usable alone, as ticket_lock.h.
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
	bool writer;
	uint64_t readers, spins;
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
 * Takes all sides, in the order in which they joined. Two writers meet at the first side: there one waits for the other,
 * and at the other sides a writer waits for readers only, so that they cannot deadlock. The caller does not hold its own
 * core's side: it would wait for itself.
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
