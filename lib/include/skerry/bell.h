/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bell word of a process says whether it sleeps. Its peers, which fill the
 * rings (ring.h) that it reads, look there. The word has a page of its own, which
 * only this process can write; its peers in the cluster have it read-only. Hazard:
 * a peer that could write it could make the process seem awake, and another peer
 * leave out its signal.
 *
 * The word counts: it is odd while the process sleeps or is about to, and each
 * sleep has another number. A peer signals once for each of them.
 *
 * A process that wants to sleep calls bell_arm(), looks at all its rings once
 * more, then waits on its notification; before it looks again, it calls
 * bell_awake(). A producer publishes slots, then calls bell_rings() and
 * signals if that returns true. Hazard: a lost wake-up, where the process still
 * finds a ring empty and the producer does not yet find it asleep. Each of the two
 * writes, passes a sequentially consistent fence, then reads what the other one
 * writes: the one whose fence is later sees what the other has written.
 *
 * A producer that finds the number for which it has signalled does not signal
 * again: the process has not looked since, or if it has (bell_awake() has no
 * fence), it looks once more behind the fence of its next bell_arm().
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <skerry/process.h>

enum { BELL_SIZE = 4096 }; /* bytes from one word to the next: a page */

struct bell {
	_Alignas(64) _Atomic uint64_t sleeps;
};

/* Returns the word in a page of the process, by its number in process.h. */
static inline struct bell *bell_at(unsigned page)
{
	return (struct bell *)(PROCESS_BELLS_VADDR + (uint64_t)page * BELL_SIZE);
}

/* The process itself: it is about to sleep. */
static inline void bell_arm(struct bell *own)
{
	const uint64_t number = atomic_load_explicit(&own->sleeps, memory_order_relaxed);

	atomic_store_explicit(&own->sleeps, number + 1 + (number & 1), memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/* The process itself: it is about to look at its rings. */
static inline void bell_awake(struct bell *own)
{
	const uint64_t number = atomic_load_explicit(&own->sleeps, memory_order_relaxed);

	if (number & 1)
		atomic_store_explicit(&own->sleeps, number + 1, memory_order_relaxed);
}

/*
 * A producer, after ring_publish(): returns whether to signal the process whose word `of` is. `*rung` is the producer's
 * own: the number for which it has signalled last; 0: for none, as when a successor has the word.
 */
static inline bool bell_rings(const struct bell *of, uint64_t *rung)
{
	atomic_thread_fence(memory_order_seq_cst);
	const uint64_t number = atomic_load_explicit(&of->sleeps, memory_order_relaxed);

	if (!(number & 1) || number == *rung)
		return false;
	*rung = number;
	return true;
}
