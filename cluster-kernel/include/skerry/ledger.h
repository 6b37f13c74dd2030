/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state that a cluster shows to the others of its machine: four pages in its own memory. They are mapped at
 * ROOT_LEDGER_VADDR in every root task, read-only, but for the own manager's page.
 *
 *    12 KiB   struct ledger_kernel    written by the kernel, and by no program
 *     4 KiB   struct ledger_manager   written by the cluster's manager
 *
 * Three signs of life: a panicking kernel's last words, a beat of each core by its kernel, and the passes of the
 * manager's main loop. A reader measures by its own clock how long a counter has not changed. It uses no word of the
 * pages as an index, a length or a time, since the author of the pages may be the cluster that failed.
 *
 * Last words: the kernel stores reason, core and text, and then, by a release
 * store, the state. A reader that loads LEDGER_DYING or LEDGER_DEAD by an
 * acquire load finds all of them. A kernel that dies before that store is silent
 * instead. LEDGER_DEAD says that the kernel's report on the console is complete.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <skerry/boot.h>

#define LEDGER_MAGIC 0x314745444c4b5353ull
enum { LEDGER_TEXT_WORDS = 8, LEDGER_TEXT = 8 * LEDGER_TEXT_WORDS };

enum ledger_state {
	LEDGER_EMPTY, /* the kernel has not started */
	LEDGER_RUNNING,
	LEDGER_DYING, /* last words are said; a report goes to the console */
	LEDGER_DEAD,  /* so has the report */
};

/* Why a kernel panicked. */
enum ledger_reason {
	LEDGER_UNKNOWN,
	LEDGER_PANIC,     /* it found something wrong itself */
	LEDGER_EXCEPTION, /* of the processor, in the kernel */
	LEDGER_NMI,       /* that no core sent */
	LEDGER_REASONS,
};

/*
 * What a debugger outside the machine may have the cluster do, for tests and
 * demonstrations: it writes LEDGER_ORDER_MAGIC | core << 8 | order into `order`.
 * No program can write that page. The kernel obeys at a core's next beat, the
 * manager at its next tick; the words stay.
 */
#define LEDGER_ORDER_MAGIC 0x6b696c6c00000000ull
enum ledger_order {
	LEDGER_ORDER_NONE,
	LEDGER_ORDER_PANIC,     /* the core panics */
	LEDGER_ORDER_HANG,      /* every core loops, with interrupts off */
	LEDGER_ORDER_HANG_CORE, /* the core does */
	LEDGER_ORDER_INIT,      /* every core sends itself INIT */
	LEDGER_ORDER_MANAGER,   /* the manager's main thread stops by a fault */
	LEDGER_ORDER_GARBAGE,   /* the manager overwrites all that it shares with other clusters */
	LEDGER_ORDERS,
};
/*@ assigns \nothing;
  @ ensures bits: known: \result < LEDGER_ORDERS;
  @ ensures bits: marked: \result != LEDGER_ORDER_NONE ==>
  @   word / 4294967296 == LEDGER_ORDER_MAGIC / 4294967296 && word % 256 == \result; */
static inline unsigned ledger_order(uint64_t word)
{
	unsigned order = word & 0xff;
	return word >> 32 == LEDGER_ORDER_MAGIC >> 32 && order < LEDGER_ORDERS ? order : LEDGER_ORDER_NONE;
}
static inline unsigned ledger_order_core(uint64_t word) { return word >> 8 & 0xfff; }

/*
 * In the same way it changes the kernel's granularity (skerry/syscall.h): the manager has the kernel change when it
 * finds a new word, and reports when the change has ended. The number makes two words differ.
 */
#define LEDGER_GRANULARITY_MAGIC 0x6772616e00000000ull
/*@ assigns \nothing;
  @ ensures bits: -1 <= \result <= 255 &&
  @   (\result >= 0 <==> word / 4294967296 == LEDGER_GRANULARITY_MAGIC / 4294967296); */
static inline int ledger_granularity(uint64_t word)
{
	return word >> 32 == LEDGER_GRANULARITY_MAGIC >> 32 ? (int)(word & 0xff) : -1;
}

/*
 * In the same way it has the manager move a core, which it names by its place in the cluster map: to another cluster,
 * or where `cluster` is the manager's own, to it, from the loader.
 */
#define LEDGER_MOVE_MAGIC 0x6d6f766500000000ull
static inline int ledger_move_is(uint64_t word) { return word >> 32 == LEDGER_MOVE_MAGIC >> 32; }
static inline uint32_t ledger_move_number(uint64_t word) { return (uint32_t)word >> 20; }
static inline uint32_t ledger_move_core(uint64_t word) { return (uint32_t)word >> 8 & 0xfff; }
static inline uint32_t ledger_move_to(uint64_t word) { return (uint32_t)word & 0xff; }

/*
 * In the same way it has the manager give memory, in pieces of 2 MiB, to another cluster; or, where `cluster` is the
 * manager's own, take what is parked for clusters that are down (memory_control.h).
 */
#define LEDGER_MEMORY_MAGIC 0x6d65000000000000ull
static inline int ledger_memory_is(uint64_t word) { return word >> 48 == LEDGER_MEMORY_MAGIC >> 48; }
static inline uint32_t ledger_memory_number(uint64_t word) { return (uint32_t)(word >> 36) & 0xfff; }
static inline uint32_t ledger_memory_pieces(uint64_t word) { return (uint32_t)(word >> 8) & 0xfffffff; }
static inline uint32_t ledger_memory_to(uint64_t word) { return (uint32_t)word & 0xff; }

enum { LEDGER_CORES = 1024 };
_Static_assert((int)BOOT_MAX_CPUS <= (int)LEDGER_CORES, "a beat of each core");

struct ledger_kernel {
	_Atomic uint64_t magic; /* LEDGER_MAGIC; 0 before the kernel has started */
	_Atomic uint32_t state; /* enum ledger_state */
	_Atomic uint32_t reason; /* enum ledger_reason */
	_Atomic uint32_t core;  /* that panicked, index in the cluster */
	_Atomic uint64_t said_at; /* TSC of the last words */
	_Alignas(64) _Atomic uint64_t text[LEDGER_TEXT_WORDS]; /* bytes, the rest zeroes */
	_Alignas(64) _Atomic uint64_t order;
	_Atomic uint64_t granularity; /* LEDGER_GRANULARITY_MAGIC | number << 8 | enum granularity */
	_Atomic uint64_t move;        /* LEDGER_MOVE_MAGIC | number << 20 | core << 8 | cluster */
	_Atomic uint64_t memory;      /* LEDGER_MEMORY_MAGIC | number << 36 | pieces << 8 | cluster */
	_Alignas(64) _Atomic uint32_t life; /* boot_info.life */
	_Atomic uint64_t present[BOOT_CORE_WORDS]; /* those that are the cluster's, and beat; as struct boot_cores */
	/* of each core: grows every boot_info.beat_ms; only the core itself writes it. Beats are rare, so that eight
	 * cores share a line, and a watcher reads few */
	_Alignas(4096) _Atomic uint64_t beats[LEDGER_CORES];
};

struct ledger_manager {
	_Atomic uint64_t magic;                /* LEDGER_MAGIC; 0 before the manager's loop begins */
	_Alignas(64) _Atomic uint64_t passes;  /* of the main loop, and of long work within one */
	_Alignas(64) _Atomic uint64_t ticks;   /* of the timer thread */
	_Alignas(64) _Atomic uint64_t console; /* its ticket for the next turn on the console; 0: it wants none */
	uint64_t reserved[487];
};

struct ledger {
	struct ledger_kernel kernel;
	struct ledger_manager manager;
};

_Static_assert(sizeof(struct ledger_kernel) == 3 * 4096, "a page, and two of beats");
_Static_assert(sizeof(struct ledger_manager) == 4096, "a page");

/* The last words of `core`; the caller is the only one that says any. `text` ends with 0. */
static inline void ledger_last_words(struct ledger_kernel *ledger, enum ledger_reason reason, uint32_t core,
                                     const char *text)
{
	for (unsigned w = 0; w < LEDGER_TEXT_WORDS; w++) {
		uint64_t word = 0;
		for (unsigned i = 0; i < 8 && *text; i++)
			word |= (uint64_t)(unsigned char)*text++ << 8 * i;
		atomic_store_explicit(&ledger->text[w], word, memory_order_relaxed);
	}
	atomic_store_explicit(&ledger->reason, reason, memory_order_relaxed);
	atomic_store_explicit(&ledger->core, core, memory_order_relaxed);
	atomic_store_explicit(&ledger->state, LEDGER_DYING, memory_order_release);
}

/* Ends the report of the caller of ledger_last_words(). */
static inline void ledger_report_ended(struct ledger_kernel *ledger)
{
	atomic_store_explicit(&ledger->state, LEDGER_DEAD, memory_order_release);
}
