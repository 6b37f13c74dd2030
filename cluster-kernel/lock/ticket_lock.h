/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ticket lock (Reed and Kanodia 1979; Mellor-Crummey and Scott 1991, section 2.2): fair, and two counters. All
 * zeroes: free. Usable alone: whoever uses it defines kernel_relax(), which a waiting core calls in each turn with the
 * `waiter` that it was given.
 *
 * Memory order: drawing a ticket only decides the order, so it is relaxed. What the lock protects is published by
 * `serving`: the holder's release store pairs with the next holder's acquire load.
 */
#ifndef TICKET_LOCK_H /* the explorer puts a copy with a mistake in its place */
#define TICKET_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

struct cpu;
void kernel_relax(struct cpu *waiter);

struct ticket_lock {
	_Atomic uint32_t next;    /* the ticket that the next core draws */
	_Atomic uint32_t serving; /* the ticket of the core that holds the lock, or may take it */
};

static inline void ticket_lock_init(struct ticket_lock *lock)
{
	atomic_store_explicit(&lock->next, 0, memory_order_relaxed);
	atomic_store_explicit(&lock->serving, 0, memory_order_relaxed);
}

/* Out of line, so that the uncontended path spills no registers. Returns the spin count. */
static __attribute__((noinline, cold, unused)) uint64_t ticket_wait(struct cpu *waiter, const struct ticket_lock *lock,
                                                                    uint32_t ticket)
{
	uint64_t spins = 0;
	while (atomic_load_explicit(&lock->serving, memory_order_acquire) != ticket) {
		spins++;
		kernel_relax(waiter);
	}
	return spins;
}

/* Takes the lock; *drawn is the holder's ticket. Returns the spin count. */
static inline __attribute__((always_inline)) uint64_t ticket_take(struct ticket_lock *lock, uint32_t *drawn,
                                                                  struct cpu *waiter)
{
	uint32_t ticket = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
	uint64_t spins = 0;
	if (__builtin_expect(atomic_load_explicit(&lock->serving, memory_order_acquire) != ticket, 0))
		spins = ticket_wait(waiter, lock, ticket);
	*drawn = ticket;
	return spins;
}

/* Releases the lock with the holder's ticket, so that the line need not be read before it is written. */
static inline __attribute__((always_inline)) void ticket_release(struct ticket_lock *lock, uint32_t ticket)
{
	atomic_store_explicit(&lock->serving, ticket + 1, memory_order_release);
}

/* By a holder that has not kept its ticket. */
static inline __attribute__((always_inline)) void ticket_release_current(struct ticket_lock *lock)
{
	ticket_release(lock, atomic_load_explicit(&lock->serving, memory_order_relaxed));
}

#endif
