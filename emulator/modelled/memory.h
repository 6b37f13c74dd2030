/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of the modelled machine: private L1 and L2 caches, an L3 for each cluster of cores, and a directory by
 * physical line (MESIF: one owner, or several sharers of whom the nearest answers). It says when an access is done.
 *
 * A line is busy while it moves, and requests for it queue in the order of their calls. Callers therefore call in the
 * order of the cores' clocks (event_queue.h), within the quantum.
 *
 * Instructions come by way of an L1 of their own, whose lines are replaced in the order in which they came, and which
 * may only be read. What a core stores itself does not take them away.
 *
 * Stores go through a store buffer in order (TSO): the core goes on, and the line is its own when it arrives.
 *
 * All times are in sixteenths of a cycle (UNIT).
 */
#pragma once

#include "cache.h"

enum access { LOAD, STORE, ATOMIC, FETCH };

enum { STORES_MOST = 256, CODE_SLOTS = 4096 };
/* The TLBs of data pages of 4 KiB: Haswell's first one, of 64 entries, and its second, of 1,024. */
enum { TLB_SETS = 16, TLB_WAYS = 4, STLB_SETS = 128, STLB_WAYS = 8 };

/* Statistics of a core's accesses. The arrays are by distance. */
struct traffic {
	uint64_t accesses, l2, l3[DISTANCES], transfer[DISTANCES], upgrade[DISTANCES], dram_near, dram_far, walks;
	uint64_t fetches; /* lines of instructions that L1 did not have */
	uint64_t waits, wait_time; /* for lines that were busy */
	uint64_t stalls; /* of stores for room in the store buffer */
};

struct core_memory {
	struct cache l1, l1i, l2;
	/* CODE_SLOTS: in code_slot(line) a line that L1I has, whose fetches are not reported; may be null */
	uint64_t *code;
	uint64_t store[STORES_MOST]; /* when each outstanding store is done; a ring, never falling */
	unsigned store_first, store_count;
	uint64_t stores_done; /* the last of them; 0: none yet */
	uint64_t taken; /* lines that other cores have taken from this one */
	uint64_t salt; /* of the places of pages in its TLB; 0: by address */
	uint64_t space; /* changes with the address space */
	uint64_t tlb[TLB_SETS][TLB_WAYS], stlb[STLB_SETS][STLB_WAYS]; /* the most recently used first */
	struct traffic traffic;
};

/* A line comes to a core from others, or stays with it and leaves them. */
struct movement {
	unsigned core;
	uint64_t line;
	bool store;
	bool upgrade;           /* it had the line already, to read */
	const uint64_t *others; /* set of the cores that had it, too (sets.h) */
	uint64_t when;          /* the core asked for it */
	uint64_t queued;        /* then for as long as it was under way to others */
	uint64_t wait;          /* until it is there, that included */
};

struct memory {
	const struct machine *machine;
	struct core_memory *core;
	struct cache *l3;       /* of each cluster */
	void **chunk;           /* of the directory */
	unsigned core_words, cluster_words; /* of a set of the machine's cores, and of its clusters */
	uint64_t salt; /* of the places of code in L1I (memory_salt()); 0: none */
	/* of each cluster: how many lines its L3 is still taken to have that no core has accessed yet */
	uint64_t *warm;
	/* Called when `core` loses `line`, which another takes: it is without it from `when` on; may be null. */
	void (*lost)(unsigned core, uint64_t line, uint64_t when);
	/* Called when a line has moved between cores; may be null. Not for what L2, L3 and memory alone serve. */
	void (*moved)(const struct movement *movement);
};

/* Physical memory above this is not modelled: an access there costs what dram_far does. */
#define MEMORY_LINES (1ull << 34) /* 1 TiB */

void memory_make(struct memory *memory, const struct machine *machine);
void memory_free(struct memory *memory);
/* Draws, for each core, the colours of its L2 and the places of pages in its TLB, and for all by how much each page of
 * code is rotated in L1I. 0: the addresses' own. Before the first access. */
void memory_salt(struct memory *memory, uint64_t salt);
/* From now on each L3 is taken to be full of what its cores access first: what came before was not accessed here. */
void memory_warm(struct memory *memory);

/* `core` accesses `line` at `now`. Returns when it goes on: at once after a store that the buffer takes. */
uint64_t memory_access(struct memory *memory, unsigned core, uint64_t line, enum access access, uint64_t now);
/*
 * Returns whether a load or store at `now` costs nothing and changes nothing but the count of accesses: the line is the
 * most recently used one of its set of L1. It is counted then; else memory_access() does it.
 */
static inline bool memory_repeats(struct memory *memory, unsigned core, uint64_t line, bool store, uint64_t now)
{
	struct core_memory *c = &memory->core[core];
	entry_t first = *cache_set(&c->l1, line);
	if (!first || entry_line(first) != line || (store && (!entry_writable(first) || c->stores_done > now)))
		return false;
	c->traffic.accesses++;
	return true;
}
/* Returns when all its stores are visible, `now` if they are: what a fence or a serialising instruction waits for. */
uint64_t memory_drain(const struct memory *memory, unsigned core, uint64_t now);
/* Code of `line` is executed at the virtual `address`, which says how its page is rotated: the same for all copies of a
 * program, as a linker places it the same in all. */
void memory_place_code(struct memory *memory, uint64_t line, uint64_t address);
/* The core begins to execute instructions of `line` at `now`. Returns when it can. */
uint64_t memory_fetch(struct memory *memory, unsigned core, uint64_t line, uint64_t now);
static inline unsigned code_slot(uint64_t line) { return (unsigned)(line % CODE_SLOTS); }
/*
 * A locked instruction takes effect when its line arrives, so the caller lets other cores act until then. Returns how
 * long `core`, if it asked for `line` at `now`, would wait until half of the transfer is over, 0 if it has it; *half is
 * that half alone. The access that follows is to be made at (its time - *half).
 */
uint64_t memory_approach(struct memory *memory, unsigned core, uint64_t line, uint64_t now, uint64_t *half);
/* Returns the cost of translating `address` (virtual); flush drops all translations of the core. */
uint64_t memory_translate(struct memory *memory, unsigned core, uint64_t address);
void memory_flush(struct memory *memory, unsigned core);
