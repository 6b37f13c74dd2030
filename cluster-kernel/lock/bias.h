/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bias of a big-reader lock (brlock.h) towards a core that reads. A biased core does not take its side: at the
 * begin of an entry it only compares a word of its own. A writer takes all sides, revokes the bias, interrupts the
 * core, and waits until the core has given the bias up.
 *
 *     the core      OFF to ON           in an entry that has its side
 *                   ON, REVOKED to OFF  as an entry begins, before it takes its side
 *     a writer      ON to REVOKED       with all sides taken
 *
 * Exclusion: a core is inside without its side only if its entry found ON. The word cannot become ON while a writer
 * holds the core's side. When the writer finds OFF, the core has begun another entry since the last one that found ON,
 * so none of those is inside any more, and the new entry takes its side. Store buffering is harmless here: if an entry
 * misses REVOKED, the writer still waits for OFF, which the core stores in a later entry. So neither side needs a
 * fence.
 *
 * Memory order: the core's store of OFF releases what it did without its side; the writer's load of OFF acquires it. In
 * the other direction, the core acquired what writers had done when it took its side, before it stored ON, and no
 * writer has been inside since.
 *
 * Hazard: a core that begins no entry never gives its bias up, so the caller interrupts each core whose bias it
 * revokes. Hazard: deadlock of two writers. A core gives up its own bias before it waits as a writer.
 *
 * Usable alone, as ticket_lock.h. All zeroes: OFF.
 */
#ifndef BIAS_H /* the explorer puts a copy with a mistake in its place */
#define BIAS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cpu;
void kernel_relax(struct cpu *waiter);

enum { BIAS_OFF, BIAS_ON, BIAS_REVOKED };

/*
 * A core turns its bias on after this many entries as a reader since a writer revoked it. That many entries save about
 * what the revoking interrupt costs both cores.
 */
#ifndef BIAS_CALM /* tests turn it on sooner */
#define BIAS_CALM 64
#endif

struct bias {
	_Atomic uint32_t word;
	uint32_t calm; /* private to the core: entries with its side since the bias was revoked */
};

/* Returns whether the entry that begins may run without its core's side. */
static inline __attribute__((always_inline)) bool bias_is_on(const struct bias *bias)
{
	return atomic_load_explicit(&bias->word, memory_order_relaxed) == BIAS_ON;
}

/* Caller's entry has its core's side, or all sides. */
static inline void bias_turn_on(struct bias *bias)
{
	atomic_store_explicit(&bias->word, BIAS_ON, memory_order_relaxed);
}

/*
 * Gives the bias up. Called when an entry begins that takes its core's side, or all. Returns whether the bias was on
 * and not revoked.
 */
static inline bool bias_give_up(struct bias *bias)
{
	uint32_t word = atomic_load_explicit(&bias->word, memory_order_relaxed);
	if (word == BIAS_OFF)
		return false;
	bias->calm = 0;
	atomic_store_explicit(&bias->word, BIAS_OFF, memory_order_release);
	return word == BIAS_ON;
}

/*
 * Counts an entry, and may turn the bias on. Caller's entry has its core's side. `may`: the core will begin another
 * entry when it is interrupted.
 */
static inline void bias_count(struct bias *bias, bool may)
{
	if (bias->calm < BIAS_CALM)
		bias->calm++;
	if (bias->calm >= BIAS_CALM && may)
		bias_turn_on(bias);
}

/* Revokes the bias. Caller holds all sides. Returns whether it must interrupt the core and wait for it. */
static inline bool bias_revoke(struct bias *bias)
{
	/* Acquire on failure, too: the core may have stored OFF since it last held its side; what it did before is
	 * seen. */
	uint32_t on = BIAS_ON;
	return atomic_compare_exchange_strong_explicit(&bias->word, &on, BIAS_REVOKED, memory_order_acquire,
	                                               memory_order_acquire);
}

/* Returns the spin count. */
static inline uint64_t bias_wait(const struct bias *bias, struct cpu *waiter)
{
	uint64_t spins = 0;
	while (atomic_load_explicit(&bias->word, memory_order_acquire) != BIAS_OFF) {
		spins++;
		kernel_relax(waiter);
	}
	return spins;
}

#endif
