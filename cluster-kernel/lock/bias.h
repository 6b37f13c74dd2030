/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bias of a big-reader lock (brlock.h) towards a core that reads. Such a core does not take its side: it compares a
 * word of its own as an entry begins, and that is all. A writer, which has taken all sides, revokes the bias and interrupts
 * the core; then it waits until the core has given the bias up.
 *
 *     the core      OFF to ON           in an entry that has its side
 *                   ON, REVOKED to OFF  as an entry begins, before it takes its side
 *     a writer      ON to REVOKED       with all sides taken
 *
 * Exclusion: a core is inside without its side only from an entry that has found ON. It cannot turn ON while a writer has
 * its side; and when the writer finds OFF, the core has begun an entry since the last of those, and takes its side in it.
 * It does no harm that an entry misses REVOKED (store buffering): the writer waits for the core, not for what it has read.
 * So neither needs a fence.
 *
 * Memory order: the core releases with OFF what it did without its side, and the writer acquires it. What writers did the
 * core has acquired with its side before it turned ON, and none has been inside since.
 *
 * Hazard: a core that begins no entry. The caller interrupts each core that it takes the bias from. Hazard: deadlock of two
 * writers. A core gives up its own bias before it waits as a writer.
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
 * As a reader with its side, a core turns its bias on after so many entries since a writer has revoked it. What an
 * interrupt costs both cores is about what so many entries save.
 */
#ifndef BIAS_CALM /* tests turn it on sooner */
#define BIAS_CALM 64
#endif

struct bias {
	_Atomic uint32_t word;
	uint32_t calm; /* the core's own: entries with its side since it was revoked */
};

/* Whether the entry that begins need not take its core's side. */
static inline __attribute__((always_inline)) bool bias_is_on(const struct bias *bias)
{
	return atomic_load_explicit(&bias->word, memory_order_relaxed) == BIAS_ON;
}

/* In an entry that has its core's side, or all. */
static inline void bias_turn_on(struct bias *bias) { atomic_store_explicit(&bias->word, BIAS_ON, memory_order_relaxed); }

/* As an entry begins that takes its core's side, or all. Returns whether the bias was on and no writer has revoked it. */
static inline bool bias_give_up(struct bias *bias)
{
	uint32_t word = atomic_load_explicit(&bias->word, memory_order_relaxed);
	if (word == BIAS_OFF)
		return false;
	bias->calm = 0;
	atomic_store_explicit(&bias->word, BIAS_OFF, memory_order_release);
	return word == BIAS_ON;
}

/* In an entry that has its core's side; `may`: the core will begin other entries when it is interrupted. */
static inline void bias_count(struct bias *bias, bool may)
{
	if (bias->calm < BIAS_CALM)
		bias->calm++;
	if (bias->calm >= BIAS_CALM && may)
		bias_turn_on(bias);
}

/* By a writer with all sides. Returns whether the core is to be interrupted, and waited for. */
static inline bool bias_revoke(struct bias *bias)
{
	uint32_t on = BIAS_ON; /* acquire where it is not: the core may have given it up since it last had its side */
	return atomic_compare_exchange_strong_explicit(&bias->word, &on, BIAS_REVOKED, memory_order_acquire, memory_order_acquire);
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
