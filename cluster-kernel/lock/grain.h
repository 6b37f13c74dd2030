/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which locks a kernel takes, chosen while it runs (Uhlig 2007, section 2.3.2: cascaded locks). Coarse, an entry takes
 * the one lock of the kernel. Fine, it takes the locks of what it touches. While the kernel changes from one to the
 * other an entry takes both, the coarse lock first:
 *
 *                      the coarse lock    the fine locks
 *     coarse           taken
 *     to fine          taken              taken
 *     fine                                taken
 *     to coarse        taken              taken
 *
 * So an entry that has seen the change and one that has not still exclude each other: they have a lock in common. The
 * change is final when all entries that have not seen it are over (epoch.h). The first core that finds this out ends
 * the change. An entry keeps the grain with which it began. Coarse entries and fine entries never meet: at least three
 * epochs lie between them.
 *
 * A change that is taken back before it is final is final at once: every entry so far has taken the lock of before the
 * change, the entries since as one of two.
 *
 * Usable alone. Nothing here waits. All zeroes: coarse.
 */
#ifndef GRAIN_H /* the explorer puts a copy with a mistake in its place */
#define GRAIN_H

#include "epoch.h"

enum grain { GRAIN_COARSE, GRAIN_TO_FINE, GRAIN_FINE, GRAIN_TO_COARSE };

/* The word: the epoch mark of a change that is not final in bits 0 to 15, enum grain above. Coarse, the mark says no
 * more than whether entries are to pass their epochs (grain_pass_all()). */
enum { GRAIN_SHIFT = 16 };

struct grains {
	_Alignas(64) _Atomic uint32_t word; /* read by every entry, written by changes only */
};

static inline uint32_t grain_word(enum grain grain, uint32_t mark) { return (uint32_t)grain << GRAIN_SHIFT | mark; }
static inline enum grain grain_of(uint32_t word) { return (enum grain)(word >> GRAIN_SHIFT); }
static inline bool grain_changes(uint32_t word)
{
	return grain_of(word) == GRAIN_TO_FINE || grain_of(word) == GRAIN_TO_COARSE;
}

/*
 * Returns whether the entry is coarse, the usual case: no change is under way, so it need not pass epochs. Otherwise
 * the caller passes its epochs and calls grain_sample(). Acquire: this core sees what earlier fine entries have done.
 */
static inline __attribute__((always_inline)) bool grain_coarse(struct grains *grains)
{
	return __builtin_expect(!atomic_load_explicit(&grains->word, memory_order_acquire), 1);
}

/*
 * Makes all entries of a coarse kernel pass their epochs, or ends that. Returns false if the kernel changes. Caller's
 * entry is exclusive.
 */
static inline bool grain_pass_all(struct grains *grains, bool wanted)
{
	uint32_t word = atomic_load_explicit(&grains->word, memory_order_acquire);
	if (grain_of(word) == GRAIN_COARSE)
		atomic_store_explicit(&grains->word, grain_word(GRAIN_COARSE, wanted), memory_order_release);
	return !grain_changes(word);
}

/* Returns whether the kernel is fine and does not change. Caller holds a fine lock that each change takes. */
static inline bool grain_is_fine(struct grains *grains)
{
	return atomic_load_explicit(&grains->word, memory_order_relaxed) == grain_word(GRAIN_FINE, 0);
}

/* Returns the grain of an entry that begins; ends a change that is final. Caller has passed its epochs. */
static inline enum grain grain_sample(struct grains *grains, const struct epoch_place *own)
{
	uint32_t word = atomic_load_explicit(&grains->word, memory_order_acquire);
	while (grain_changes(word) && epoch_over(own, word & EPOCH_NUMBER)) {
		uint32_t final = grain_word(grain_of(word) == GRAIN_TO_FINE ? GRAIN_FINE : GRAIN_COARSE, 0);
		/*
		 * release: a core that sees the final grain also sees what this core acquired by its epochs, the work
		 * of all entries of before
		 */
		if (atomic_compare_exchange_strong_explicit(&grains->word, &word, final, memory_order_acq_rel,
		                                            memory_order_acquire))
			word = final;
	}
	return grain_of(word);
}

/*
 * Returns the word after an order to be fine, or coarse; the same word if the kernel is so, or is becoming so, already.
 */
static inline uint32_t grain_ordered(uint32_t word, bool fine, uint32_t mark)
{
	switch (grain_of(word)) {
	case GRAIN_COARSE: return fine ? grain_word(GRAIN_TO_FINE, mark) : word;
	case GRAIN_TO_FINE: return fine ? word : grain_word(GRAIN_COARSE, 0);
	case GRAIN_FINE: return fine ? word : grain_word(GRAIN_TO_COARSE, mark);
	default: return fine ? grain_word(GRAIN_FINE, 0) : word;
	}
}

/*
 * Begins to make the kernel fine, or coarse, or takes the opposite change back. Caller's entry is exclusive. Sets
 * *under_way if the change is not final. Returns whether this call has begun it: the caller then interrupts all cores,
 * its own included, even those interrupted for an earlier epoch, since coarse entries do not pass epochs.
 */
static inline bool grain_order(struct grains *grains, struct epochs *epochs, const struct epoch_place *own, bool fine,
                               bool *under_way)
{
	uint32_t word = atomic_load_explicit(&grains->word, memory_order_acquire), next;
	do {
		next = grain_ordered(word, fine, epoch_mark(own));
	} while (next != word && !atomic_compare_exchange_strong_explicit(&grains->word, &word, next,
	                                                                  memory_order_acq_rel,
	                                                                  memory_order_acquire));
	*under_way = grain_changes(next);
	if (next == word || !*under_way)
		return false;
	epoch_want(epochs, own);
	return true;
}

#endif
