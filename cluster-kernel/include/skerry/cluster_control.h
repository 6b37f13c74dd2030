/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a lost cluster is started again: the states it goes through, and which
 * cluster makes each step.
 *
 *     RUNNING --claim--> CLAIMED --fence--> FENCED --start--> LOADING --loaded--> RUNNING, next life
 *
 * One struct cluster_control for each cluster, by number, in loader memory. Every kernel of the machine has them mapped
 * writable; no program has. They change by compare-and-swap only. So of two kernels that claim a cluster one fails, and
 * a claimer that was replaced can change nothing any more.
 *
 * The claimer fences the claimed cluster: it sends each of its cores INIT and a start-up interrupt, which take the core
 * to the loader, whatever it was doing. There, under the loader's page tables, the core joins the set `parked`. INIT
 * would send the boot processor into the firmware, so it gets an NMI instead. The claim was stored before, and the NMI
 * handler leaves for the loader if it finds its cluster claimed. A kernel that has spoilt its handler cannot be fenced.
 * START needs all cores there that the cluster has then (core_control.h); then the cluster's core 0 loads it
 * anew, takes it into its next life, and all its cores enter the new kernel. A core that arrives again in the same life
 * (a fence that came late, or twice) waits for the next.
 *
 * Hazard: two clusters may consider each other lost (store buffering). Each claimer stores its claim and then reads its
 * own word, both seq_cst. So at least one of them sees the other's claim, and does not fence. The cluster with the
 * lower number keeps its claim and waits until the other one has withdrawn.
 *
 * A claim passes to another cluster by compare-and-swap, too. The new claimer starts again with the fence, so nothing
 * depends on how far the first one came.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <skerry/boot.h>

enum control_state {
	CONTROL_NONE,    /* this cluster is not started again */
	CONTROL_RUNNING,
	CONTROL_CLAIMED,
	CONTROL_FENCED,  /* its cores were sent to the loader */
	CONTROL_LOADING,
	CONTROL_DOWN,    /* the cluster stays down: it cannot be fenced, or was restarted too often */
};

struct cluster_control {
	_Alignas(64) _Atomic uint64_t word;   /* control_word() */
	/* its cores that have come to the loader since the last fence, as struct boot_cores */
	_Alignas(64) _Atomic uint64_t parked[BOOT_CORE_WORDS];
};

/* `life`: 1 at boot, one more each time the cluster is loaded again. `claimer`: number of a cluster, 0 where there is
 * none. */
static inline uint64_t control_word(uint32_t life, uint32_t claimer, enum control_state state)
{
	return (uint64_t)life << 32 | (uint64_t)(claimer & 0xff) << 8 | (uint64_t)state;
}
static inline uint32_t control_life(uint64_t word) { return (uint32_t)(word >> 32); }
static inline uint32_t control_claimer(uint64_t word) { return (uint32_t)(word >> 8) & 0xff; }
static inline enum control_state control_state(uint64_t word) { return (enum control_state)(word & 0xff); }

static inline bool control_is_claimed(uint64_t word)
{
	return control_state(word) >= CONTROL_CLAIMED && control_state(word) <= CONTROL_LOADING;
}

static inline uint64_t control_read(const struct cluster_control *c)
{
	return atomic_load_explicit(&c->word, memory_order_acquire);
}

static inline bool control_change(struct cluster_control *c, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(&c->word, &from, to, memory_order_seq_cst, memory_order_relaxed);
}

/*
 * Claims a cluster. Returns false if the word is not `expected` any more, or a cluster in that state cannot be claimed.
 */
static inline bool control_claim(struct cluster_control *c, uint64_t expected, uint32_t claimer)
{
	if (control_state(expected) != CONTROL_RUNNING && !control_is_claimed(expected))
		return false;
	return control_change(c, expected, control_word(control_life(expected), claimer, CONTROL_CLAIMED));
}

/*
 * Begins a fence of a cluster with room for `cores` cores; called before they are interrupted. Returns false if the
 * cluster is not, or no longer, this claimer's.
 */
static inline bool control_fence_begin(struct cluster_control *c, uint32_t claimer, uint32_t cores)
{
	uint64_t word = control_read(c);
	if (!control_is_claimed(word) || control_claimer(word) != claimer ||
	    !control_change(c, word, control_word(control_life(word), claimer, CONTROL_CLAIMED)))
		return false; /* a core that was loading cannot finish from here on */
	for (uint32_t i = 0; i < (cores + 63) / 64; i++)
		atomic_store_explicit(&c->parked[i], 0, memory_order_seq_cst);
	return true;
}

/* After control_fence_begin(): whether the claimer `self` of `target` may not fence it, since it is claimed itself
 * (`own`). */
static inline bool control_yields(const struct cluster_control *own, struct cluster_control *c, uint32_t self,
                                  uint32_t target)
{
	uint64_t word = atomic_load_explicit(&own->word, memory_order_seq_cst), claim = control_read(c);
	if (!control_is_claimed(word))
		return false;
	if ((control_claimer(word) != target || self > target) &&
	    claim == control_word(control_life(claim), self, CONTROL_CLAIMED))
		control_change(c, claim, control_word(control_life(claim), 0, CONTROL_RUNNING));
	return true;
}

/* Takes back a claim that `target` has on this cluster. All cores of `target` are parked, so it cannot act on the
 * claim. */
static inline void control_release(struct cluster_control *own, uint32_t target)
{
	uint64_t word = control_read(own);
	if (control_is_claimed(word) && control_claimer(word) == target)
		control_change(own, word, control_word(control_life(word), 0, CONTROL_RUNNING));
}

/* After they are. */
static inline bool control_fence_end(struct cluster_control *c, uint32_t claimer)
{
	uint64_t word = control_read(c);
	return word == control_word(control_life(word), claimer, CONTROL_CLAIMED) &&
	       control_change(c, word, control_word(control_life(word), claimer, CONTROL_FENCED));
}

static inline bool control_all_parked(const struct cluster_control *c, const struct boot_cores *cores)
{
	for (uint32_t i = 0; i < BOOT_CORE_WORDS; i++)
		if (cores->word[i] & ~(cores->word[i] ? atomic_load_explicit(&c->parked[i], memory_order_seq_cst) : 0))
			return false;
	return true;
}

/* False: it is not fenced by this claimer, or not all of its cores are parked. */
static inline bool control_start(struct cluster_control *c, uint32_t claimer, const struct boot_cores *cores)
{
	uint64_t word = control_read(c);
	return word == control_word(control_life(word), claimer, CONTROL_FENCED) && control_all_parked(c, cores) &&
	       control_change(c, word, control_word(control_life(word), claimer, CONTROL_LOADING));
}

static inline bool control_give_up(struct cluster_control *c, uint32_t claimer)
{
	uint64_t word = control_read(c);
	return control_is_claimed(word) && control_claimer(word) == claimer &&
	       control_change(c, word, control_word(control_life(word), claimer, CONTROL_DOWN));
}

/*
 * Called by the boot processor in its NMI handler. Returns whether the NMI is a fence's; otherwise it is the machine's.
 */
static inline bool control_must_park(const struct cluster_control *c) { return control_is_claimed(control_read(c)); }

/* Records that a core of the cluster has reached the loader. Returns the life that it left. */
static inline uint32_t control_arrive(struct cluster_control *c, uint32_t core)
{
	uint32_t life = control_life(control_read(c));
	atomic_fetch_or_explicit(&c->parked[core / 64], 1ull << core % 64, memory_order_seq_cst);
	return life;
}

/*
 * Called by core 0 when it has loaded the cluster, as `word` ordered. Returns false if another cluster has claimed it
 * meanwhile.
 */
static inline bool control_loaded(struct cluster_control *c, uint64_t word)
{
	return control_change(c, word, control_word(control_life(word) + 1, 0, CONTROL_RUNNING));
}

/* Returns whether a core that left `life` may enter the kernel. */
static inline bool control_may_enter(uint64_t word, uint32_t life)
{
	return control_state(word) == CONTROL_RUNNING && control_life(word) != life;
}
