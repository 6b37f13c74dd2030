/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which cluster has which memory of the machine, and how it moves to another.
 *
 *     OWNED(a) --give--> PARKED(b) --take--> OWNED(c)        c is b, or takes what b has not taken
 *        ^                   |
 *        +---- parked again (b's next life begins; its manager takes it) ----+
 *
 * One byte for each piece of 2 MiB from physical address 0 on, in loader memory. Every kernel of the machine has them
 * mapped writable, no program has; managers read them. They change by compare-and-swap only, so a piece has one owner,
 * or is parked and has none. A second table follows, in pages that no kernel has mapped writable: a byte for each piece
 * names the cluster that had it at boot. Pieces that were in no cluster's free memory then never move.
 *
 *   give     the owner's kernel, when the piece is in no page table of it any
 *            more, in no TLB of its cores, and no capability is to it. A kernel
 *            that ends before still owns the piece: its next life has it.
 *   take     a kernel that does not have the piece, before it maps it. A kernel
 *            that ends in between owns it: its next life has it.
 *   parked again   the lost cluster's first core, in the loader, before the next
 *            life begins: what was not the cluster's at boot, which is no boot
 *            memory of that life either. No kernel of the owner runs then.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_PIECE_BITS = 21, MEMORY_MOVE_BITS_MAX = 27 }; /* log2 of the bytes of a piece; log2 of the most that one
                                                               call moves */
enum memory_state { MEMORY_NONE, MEMORY_OWNED, MEMORY_PARKED };

struct memory_control {
	_Atomic uint64_t changes; /* grows after each change */
	uint64_t count;           /* pieces */
	uint64_t reserved[6];
	_Atomic uint8_t piece[];  /* memory_byte() */
};
_Static_assert(sizeof(struct memory_control) == 64, "the bytes begin in a line of their own");

/* `cluster`: below 64. For a parked piece: the cluster that it is meant for. */
static inline uint8_t memory_byte(enum memory_state state, uint32_t cluster)
{
	return (uint8_t)(state << 6 | (cluster & 63));
}
static inline enum memory_state memory_state(uint8_t byte) { return (enum memory_state)(byte >> 6); }
static inline uint32_t memory_cluster(uint8_t byte) { return byte & 63; }

/* Of the pages with the bytes. Behind them are as many with the homes. */
/*@ requires pieces <= 1 << 43;
  @ assigns \nothing;
  @ ensures bits: pages: \result % 4096 == 0;
  @ ensures bits: holds: 64 + pieces <= \result < 64 + pieces + 4096; */
static inline uint64_t memory_control_size(uint64_t pieces)
{
	return (sizeof(struct memory_control) + pieces + 4095) & ~4095ull;
}

static inline uint8_t memory_read(const struct memory_control *c, uint64_t piece)
{
	return atomic_load_explicit(&c->piece[piece], memory_order_acquire);
}

/* Returns the cluster that had the piece at boot, plus one; 0 if it never moves. `size`: memory_control_size(). */
static inline uint8_t memory_home(const struct memory_control *c, uint64_t size, uint64_t piece)
{
	return ((const uint8_t *)c)[size + piece];
}

static inline bool memory_change(struct memory_control *c, uint64_t piece, uint8_t from, uint8_t to)
{
	return atomic_compare_exchange_strong_explicit(&c->piece[piece], &from, to, memory_order_seq_cst,
	                                               memory_order_relaxed);
}

/* Parks a piece that its owner has unmapped. Returns false if it was not the owner's. */
static inline bool memory_give(struct memory_control *c, uint64_t piece, uint32_t owner, uint32_t to)
{
	return memory_change(c, piece, memory_byte(MEMORY_OWNED, owner), memory_byte(MEMORY_PARKED, to));
}

/* Takes a parked piece. Returns false if it is not parked, or another cluster takes it. */
static inline bool memory_take(struct memory_control *c, uint64_t piece, uint32_t cluster)
{
	uint8_t byte = memory_read(c, piece);
	return memory_state(byte) == MEMORY_PARKED && memory_change(c, piece, byte, memory_byte(MEMORY_OWNED, cluster));
}

/* Gives `count` pieces from `piece` on, which all belong to the owner. */
static inline void memory_give_all(struct memory_control *c, uint64_t piece, uint32_t count, uint32_t owner,
                                   uint32_t to)
{
	for (uint32_t i = 0; i < count; i++)
		memory_give(c, piece + i, owner, to);
}

/* Takes all of them, or none: pieces taken before one that fails are parked for this cluster again. */
static inline bool memory_take_all(struct memory_control *c, uint64_t piece, uint32_t count, uint32_t cluster)
{
	for (uint32_t i = 0; i < count; i++)
		if (!memory_take(c, piece + i, cluster)) {
			memory_give_all(c, piece, i, cluster, cluster); /* nobody else changes what this cluster owns */
			return false;
		}
	return true;
}

static inline void memory_changed(struct memory_control *c)
{
	atomic_fetch_add_explicit(&c->changes, 1, memory_order_release);
}
/* Returns how many changes there were. What they changed is seen by memory_read() from then on. */
static inline uint64_t memory_changes(const struct memory_control *c)
{
	return atomic_load_explicit(&c->changes, memory_order_acquire);
}
