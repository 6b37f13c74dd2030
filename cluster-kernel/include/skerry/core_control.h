/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which cluster a core of the machine belongs to, and how it moves to another.
 *
 *     OWNED(a) --leave--> LEAVING(a) --parked--> PARKED --take--> JOINING(b) --joined--> OWNED(b)
 *         |                   |                                       |
 *         +------- hold ------+-------------- hold -------------------+--> HELD --loaded--> OWNED
 *
 * One struct core_control for each core, by its place in the cluster map, in
 * loader memory beside the clusters' control words. Every kernel of the machine
 * has them mapped writable, no program has. They change by compare-and-swap
 * only, so a core has one owner at any time, or is parked and has none.
 *
 *   leave    the owner's kernel: no thread, interrupt or doorbell has the core.
 *            The core then goes to the loader.
 *   parked   the core, in the loader, with no interrupt on its way to it.
 *   take     a kernel that has room for the core; any one's whose cluster lives.
 *   joined   the core, in that kernel, with its lock.
 *   hold     a cluster that fences the owner (cluster_control.h), before it
 *            resets the core: a core that has not been parked until then stays
 *            the lost cluster's, and starts with its next life.
 *   loaded   the lost cluster's first core, in the loader, before that life
 *            begins. No kernel of the owner runs then.
 *
 * Two races decide this design:
 *
 * - A core leaves while its cluster is claimed. Both change the core's word by compare-and-swap: either it is parked
 *   and the claimer does not reset it, or it is held and cannot be parked. So a reset never reaches a core that
 *   another cluster owns.
 * - A kernel takes a core while its own cluster is claimed, behind the claimer, which has looked at that core already.
 *   Hazard: store buffering. After the core's word names the new owner, the core reads that owner's control word
 *   before it enters the kernel (core_may_join()); the claimer stores its claim and then reads the core's word. Either
 *   the claimer finds the core, or the core finds the claim and waits in the loader for the next life.
 */
#pragma once

#include <skerry/cluster_control.h>

enum core_state {
	CORE_NONE, /* belongs to no cluster of this machine, or no cluster is ever restarted */
	CORE_OWNED,
	CORE_LEAVING,
	CORE_PARKED, /* any kernel may take it; `owner`: the cluster that it left */
	CORE_JOINING,
	CORE_HELD,
};

struct core_control {
	_Alignas(64) _Atomic uint64_t word; /* core_word() */
};

/* `moves`: how often the core has been taken. `to`: the cluster that it was given up for; the owner's number, if for
 * none. */
static inline uint64_t core_word(uint32_t moves, uint32_t owner, uint32_t to, enum core_state state)
{
	return (uint64_t)moves << 32 | (uint64_t)(to & 0xff) << 16 | (uint64_t)(owner & 0xff) << 8 | (uint64_t)state;
}
static inline uint32_t core_moves(uint64_t word) { return (uint32_t)(word >> 32); }
static inline uint32_t core_to(uint64_t word) { return (uint32_t)(word >> 16) & 0xff; }
static inline uint32_t core_owner(uint64_t word) { return (uint32_t)(word >> 8) & 0xff; }
static inline enum core_state core_state(uint64_t word) { return (enum core_state)(word & 0xff); }

static inline uint64_t core_read(const struct core_control *c)
{
	return atomic_load_explicit(&c->word, memory_order_seq_cst);
}

static inline bool core_change(struct core_control *c, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(&c->word, &from, to, memory_order_seq_cst, memory_order_relaxed);
}

/* Returns whether a fence of `cluster` waits for the core, which then starts with the cluster's next life. */
static inline bool core_is_of(uint64_t word, uint32_t cluster)
{
	return core_owner(word) == cluster &&
	       (core_state(word) == CORE_OWNED || core_state(word) == CORE_LEAVING || core_state(word) == CORE_HELD);
}

/* Returns false if the core does not belong to this cluster, or no longer does. */
static inline bool core_leave(struct core_control *c, uint32_t owner, uint32_t to)
{
	uint64_t word = core_read(c);
	return core_owner(word) == owner && core_state(word) == CORE_OWNED &&
	       core_change(c, word, core_word(core_moves(word), owner, to, CORE_LEAVING));
}

/* False: another cluster holds it meanwhile. */
static inline bool core_parked(struct core_control *c, uint64_t word)
{
	return core_state(word) == CORE_LEAVING &&
	       core_change(c, word, core_word(core_moves(word), core_owner(word), core_to(word), CORE_PARKED));
}

/* False: it is not parked. */
static inline bool core_take(struct core_control *c, uint32_t cluster)
{
	uint64_t word = core_read(c);
	return core_state(word) == CORE_PARKED &&
	       core_change(c, word, core_word(core_moves(word) + 1, cluster, cluster, CORE_JOINING));
}

/* Returns whether the core, which has read `word`, may enter its new owner's kernel, whose control word is in
 * `owner`. */
static inline bool core_may_join(uint64_t word, const struct cluster_control *owner)
{
	return core_state(word) == CORE_JOINING &&
	       control_state(atomic_load_explicit(&owner->word, memory_order_seq_cst)) == CONTROL_RUNNING;
}

/* False: another cluster holds it meanwhile. */
static inline bool core_joined(struct core_control *c, uint32_t cluster)
{
	uint64_t word = core_read(c);
	return core_owner(word) == cluster && core_state(word) == CORE_JOINING &&
	       core_change(c, word, core_word(core_moves(word), cluster, cluster, CORE_OWNED));
}

/*
 * Holds a core, after `cluster` was claimed. Returns whether the core is held; if not, it does not belong to the
 * cluster.
 */
static inline bool core_hold(struct core_control *c, uint32_t cluster)
{
	for (;;) {
		uint64_t word = core_read(c);
		if (core_owner(word) != cluster || core_state(word) == CORE_PARKED || core_state(word) == CORE_NONE)
			return false;
		if (core_state(word) == CORE_HELD ||
		    core_change(c, word, core_word(core_moves(word), cluster, cluster, CORE_HELD)))
			return true;
	}
}

/* Before the cluster's next life begins. */
static inline void core_loaded(struct core_control *c, uint32_t cluster)
{
	uint64_t word = core_read(c);
	if (core_owner(word) == cluster && core_state(word) == CORE_HELD)
		core_change(c, word, core_word(core_moves(word), cluster, cluster, CORE_OWNED));
}
