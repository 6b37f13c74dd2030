/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Epochs (Uhlig 2007, section 2.3.1) tell when every core has left the kernel entry in which it may have read a state
 * that was changed since: a grace period, as in RCU. Each core passes each epoch once, at the beginning of an entry.
 * The last core to pass begins the next epoch, if one is wanted. While no epoch is wanted the word is just the epoch's
 * number, and an entry costs a load and a comparison.
 *
 * Usable alone. Nothing here waits. If a function returns that an epoch began, the caller must interrupt all cores,
 * since a core that idles or runs a program would not pass it otherwise.
 *
 * Memory order: all writes are acquire-release read-modify-writes of one word. A core that passes an epoch releases
 * what it has done, and acquires what every core did before it passed the previous epoch.
 */
#ifndef EPOCH_H /* the explorer puts a copy with a mistake in its place */
#define EPOCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The word: number in bits 0 to 15, which wraps; epochs still wanted after it, at most EPOCH_LEFT, in 16 to 19; cores
 * still to pass it above.
 */
enum { EPOCH_LEFT_SHIFT = 16, EPOCH_LAGGING_SHIFT = 20, EPOCH_NUMBER = 0xffff, EPOCH_LEFT = 15,
       EPOCH_CORES_MAX = 4095 };

struct epochs {
	_Alignas(64) _Atomic uint32_t word;
	uint32_t cores; /* up to EPOCH_CORES_MAX */
};

/* A core's own. */
struct epoch_place {
	uint32_t seen; /* the number of the epoch that it passed last */
};

static inline void epochs_init(struct epochs *epochs, uint32_t cores)
{
	atomic_store_explicit(&epochs->word, 0, memory_order_relaxed);
	epochs->cores = cores;
}

/*@ requires left <= EPOCH_LEFT && lagging <= EPOCH_CORES_MAX;
  @ assigns \nothing;
  @ ensures bits: \result == number % 65536 + left * 65536 + lagging * 1048576; */
static inline uint32_t epoch_word(uint32_t number, uint32_t left, uint32_t lagging)
{
	return (number & EPOCH_NUMBER) | left << EPOCH_LEFT_SHIFT | lagging << EPOCH_LAGGING_SHIFT;
}
/*@ assigns \nothing; ensures bits: \result == word / 65536 % 16; */
static inline uint32_t epoch_left(uint32_t word) { return word >> EPOCH_LEFT_SHIFT & EPOCH_LEFT; }
/*@ assigns \nothing; ensures bits: \result == word / 1048576; */
static inline uint32_t epoch_lagging(uint32_t word) { return word >> EPOCH_LAGGING_SHIFT; }

/*
 * Returns how far epoch `a` is after `b`. Numbers wrap: epochs too far apart count as before, which only causes a
 * delay.
 */
/*@ assigns \nothing;
  @ ensures bits: near: -32768 <= \result <= 32767 && (\result - (a - b)) % 65536 == 0;
  @ ensures bits: exact: -32768 <= a - b <= 32767 ==> \result == a - b; */
static inline int epoch_after(uint32_t a, uint32_t b) { return (int16_t)(uint16_t)(a - b); }

/* Out of line, as there is seldom anything to pass. */
static __attribute__((noinline, cold, unused)) bool epoch_pass_new(struct epochs *epochs, struct epoch_place *own,
                                                                   uint32_t word)
{
	bool began = false;
	while ((word & EPOCH_NUMBER) != own->seen) {
		uint32_t left = epoch_left(word), lagging = epoch_lagging(word) - 1,
		         next = epoch_word(word, left, lagging);
		bool begins = !lagging && left;
		if (begins)
			next = epoch_word(word + 1, left - 1, epochs->cores);
		if (!atomic_compare_exchange_strong_explicit(&epochs->word, &word, next, memory_order_acq_rel,
		                                             memory_order_relaxed))
			continue;
		own->seen = word & EPOCH_NUMBER;
		began |= begins;
		word = next; /* this core passes at once what it has begun */
	}
	return began;
}

/*
 * Passes the present epoch. Called at the begin of an entry, before the core reads anything that epochs guard, and
 * never in the middle of one. Returns whether the next epoch began, which this core has passed already; the caller
 * interrupts the others.
 */
static inline __attribute__((always_inline)) bool epoch_pass(struct epochs *epochs, struct epoch_place *own)
{
	uint32_t word = atomic_load_explicit(&epochs->word, memory_order_relaxed);
	return __builtin_expect(word != own->seen, 0) && epoch_pass_new(epochs, own, word);
}

/*
 * Returns the mark for a change that this core makes in this entry: the epoch after the last one that the core has
 * passed. The present epoch cannot be a later one, since this core would have to pass first.
 */
static inline uint32_t epoch_mark(const struct epoch_place *own) { return (own->seen + 1) & EPOCH_NUMBER; }

/*
 * Returns whether every core has left all entries in which it may have missed the change with this mark; this core then
 * sees everything done in them. Epoch mark + 1 begins after the core that made the change has passed `mark`, so a core
 * that passes mark + 1 sees the change; epoch mark + 2 begins after all have passed mark + 1.
 */
static inline bool epoch_over(const struct epoch_place *own, uint32_t mark)
{
	return epoch_after(own->seen, mark) >= 2;
}

/*
 * Asks for as many epochs as epoch_over() needs for a change of this entry. Returns whether an epoch began; this core
 * has not passed it, so the caller interrupts this core, too.
 */
static __attribute__((noinline, cold, unused)) bool epoch_want(struct epochs *epochs, const struct epoch_place *own)
{
	uint32_t last = epoch_mark(own) + 2, word = atomic_load_explicit(&epochs->word, memory_order_relaxed), next;
	do {
		uint32_t wanted = (uint32_t)epoch_after(last, word), left = epoch_left(word);
		next = !epoch_lagging(word) ? epoch_word(word + 1, wanted - 1, epochs->cores)
		                            : epoch_word(word, left > wanted ? left : wanted, epoch_lagging(word));
	} while (!atomic_compare_exchange_strong_explicit(&epochs->word, &word, next, memory_order_acq_rel,
	                                                  memory_order_relaxed));
	return (word & EPOCH_NUMBER) != (next & EPOCH_NUMBER);
}

#endif
