/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CLH queue lock (Craig 1993): fair, and each waiter spins on a line that only its predecessor writes. So a release
 * costs one line transfer, however many cores wait. Usable alone: its user defines kernel_relax(), which a waiting core
 * calls in each turn with the `waiter` that it was given.
 *
 * Memory order, by hazard:
 *
 *     stale mark      A node is 0 from its last use when a core queues it again. The core stores 1 before the exchange
 *                     on `tail`, which is a release; the successor's exchange reads that pointer and is an acquire. So
 *                     the successor never finds the old 0 and enters too early.
 *     unseen writes   What the holder wrote must be visible to the next one. The holder's store of 0 is a release, and
 *                     the load with which the successor finds that 0 is an acquire.
 */
#ifndef CLH_LOCK_H /* the explorer puts a copy with a mistake in its place */
#define CLH_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cpu;
void kernel_relax(struct cpu *waiter);

/* A cache line each: the owner writes its node, and the successor spins on it. */
struct clh_node {
	_Alignas(64) _Atomic uint32_t held;
};

struct clh_lock {
	_Alignas(64) _Atomic(struct clh_node *) tail;
	struct clh_node first; /* the node that the first core finds released */
};

/* A core's place in the queue. */
struct clh_place {
	struct clh_node node;       /* the node it started with */
	struct clh_node *mine;      /* the node that this core queues next; nodes migrate between cores */
	struct clh_node *waited_on; /* the predecessor's node, which becomes this core's on release */
};

static inline void clh_lock_init(struct clh_lock *lock)
{
	atomic_store_explicit(&lock->tail, &lock->first, memory_order_relaxed);
}
static inline void clh_place_init(struct clh_place *place) { place->mine = &place->node; }

/* Out of line, so that the uncontended path spills no registers. Returns the spin count. */
static __attribute__((noinline, cold, unused)) uint64_t clh_wait(struct cpu *waiter, const struct clh_node *node)
{
	uint64_t spins = 0;
	while (atomic_load_explicit(&node->held, memory_order_acquire)) {
		spins++;
		kernel_relax(waiter);
	}
	return spins;
}

/* Takes the lock. Returns the spin count. From then on no other core uses the node `waited_on`: its owner has left
 * it. */
static inline __attribute__((always_inline)) uint64_t clh_take(struct clh_lock *lock, struct clh_place *place,
                                                               struct cpu *waiter)
{
	atomic_store_explicit(&place->mine->held, 1, memory_order_relaxed);
	place->waited_on = atomic_exchange_explicit(&lock->tail, place->mine, memory_order_acq_rel);
	if (__builtin_expect(atomic_load_explicit(&place->waited_on->held, memory_order_acquire), 0))
		return clh_wait(waiter, place->waited_on);
	return 0;
}

/*
 * Hazard: use after hand-over. After the store the released node belongs to the successor, or to the next core that
 * takes the lock, so it is not touched again.
 */
static inline __attribute__((always_inline)) void clh_release(struct clh_place *place)
{
	struct clh_node *released = place->mine;
	place->mine = place->waited_on;
	atomic_store_explicit(&released->held, 0, memory_order_release);
}

/* Whether some core holds the lock: the node at the queue's tail is released only when no core holds it or waits. */
static inline bool clh_held(struct clh_lock *lock)
{
	const struct clh_node *last = atomic_load_explicit(&lock->tail, memory_order_acquire);
	return atomic_load_explicit(&last->held, memory_order_acquire);
}

#endif
