/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue lock of Mellor-Crummey and Scott (1991, section 2.4): as fair and as scalable as CLH, but each waiter spins
 * on its own node, which never leaves its core. Its price: the holder must find its successor. If no core waits, that
 * takes a compare-and-swap; if one has queued and not yet linked its node, a short wait. All zeroes: free. Usable
 * alone: whoever uses it defines kernel_relax(), which a waiting core calls in each turn with the `waiter` that it was
 * given.
 *
 * Memory order, by hazard: a waiter's mark must be set before the holder can clear it, so the waiter links its node
 * with release, and the holder loads the link with acquire. What the holder wrote must be visible to the next one: it
 * clears the mark with release, which pairs with the waiter's acquire load; without a waiter, the compare-and-swap that
 * frees the lock is a release, and the next core's exchange an acquire.
 */
#ifndef MCS_LOCK_H /* the explorer puts a copy with a mistake in its place */
#define MCS_LOCK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct cpu;
void kernel_relax(struct cpu *waiter);

/* Each core spins on its own node, so each node has a cache line. */
struct mcs_node {
	_Alignas(64) _Atomic(struct mcs_node *) next; /* the successor's node, once the successor has linked it */
	_Atomic uint32_t waits;                       /* its predecessor clears it on release */
};

struct mcs_lock {
	/* the node of the last core in the queue; null: the lock is free */
	_Alignas(64) _Atomic(struct mcs_node *) tail;
};

static inline void mcs_lock_init(struct mcs_lock *lock)
{
	atomic_store_explicit(&lock->tail, NULL, memory_order_relaxed);
}

/*
 * Returns the node's offset from the waiter, a constant if the node is embedded in it. So the uncontended path computes
 * the node's address only once, in a register that the exchange overwrites.
 */
static inline uintptr_t mcs_offset(const struct mcs_node *node, const struct cpu *waiter)
{
	return (uintptr_t)node - (uintptr_t)waiter;
}
static inline struct mcs_node *mcs_node_at(const struct cpu *waiter, uintptr_t offset)
{
	return (struct mcs_node *)((uintptr_t)waiter + offset);
}

/* Out of line, so that the uncontended path spills no registers. Returns the spin count. */
static __attribute__((noinline, cold, unused)) uint64_t mcs_wait(struct cpu *waiter, uintptr_t offset,
                                                                 struct mcs_node *before)
{
	struct mcs_node *node = mcs_node_at(waiter, offset);
	uint64_t spins = 0;
	atomic_store_explicit(&node->waits, 1, memory_order_relaxed);
	atomic_store_explicit(&before->next, node, memory_order_release);
	while (atomic_load_explicit(&node->waits, memory_order_acquire)) {
		spins++;
		kernel_relax(waiter);
	}
	return spins;
}

/* Returns the successor, after waiting until it has linked its node. */
static __attribute__((noinline, cold, unused)) struct mcs_node *mcs_successor(struct cpu *waiter, uintptr_t offset)
{
	struct mcs_node *node = mcs_node_at(waiter, offset), *next;
	while (!(next = atomic_load_explicit(&node->next, memory_order_acquire)))
		kernel_relax(waiter);
	return next;
}

/* Takes the lock with the core's node. Returns the spin count. */
static inline __attribute__((always_inline)) uint64_t mcs_take(struct mcs_lock *lock, struct mcs_node *node,
                                                               struct cpu *waiter)
{
	atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
	struct mcs_node *before = atomic_exchange_explicit(&lock->tail, node, memory_order_acq_rel);
	return __builtin_expect(before != NULL, 0) ? mcs_wait(waiter, mcs_offset(node, waiter), before) : 0;
}

static inline __attribute__((always_inline)) void mcs_release(struct mcs_lock *lock, struct mcs_node *node,
                                                              struct cpu *waiter)
{
	struct mcs_node *last = node;
	struct mcs_node *next = atomic_load_explicit(&node->next, memory_order_acquire);
	if (__builtin_expect(!next, 1)) {
		if (atomic_compare_exchange_strong_explicit(&lock->tail, &last, NULL, memory_order_release,
		                                            memory_order_relaxed))
			return;
		next = mcs_successor(waiter, mcs_offset(node, waiter));
	}
	atomic_store_explicit(&next->waits, 0, memory_order_release);
}

#endif
