/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions of kernel rtm+model (cluster-kernel/arch-modelled/arch_transaction.h). The plugin cannot take back what
 * a guest has done, so none is ever thrown back: a transaction is executed whole while no other core runs. That order,
 * one after the other by their begins, is one that a processor may give them. A processor's aborts on the way there
 * cost only time, which is computed here:
 *
 *     conflict     a core asks for a line that another's transaction, still under way in modelled time, has written, or
 *                  asks to write one that it has read. The one that asks is aborted, when both have touched the line,
 *                  and tries again, until it reaches the line after the other's end. What is asked for outside a
 *                  transaction is not delayed: it aborts the transaction, whose core pays before its next begin.
 *     capacity     more written lines than a set of L1 has ways, or more lines than one of L2: the lock at once
 *     the lock     of fallbacks, which exists in modelled time only: from its begin on until the entry's end it aborts
 *                  other transactions of the kernel, and new ones wait
 *     given up     (irrevocable): the entry goes on with the kernel's own lock; what it did is paid twice
 *
 * Each abort costs the time since the transaction's begin and `transaction_abort`; after as many as the kernel allows
 * the entry has the lock. Lines are told apart by the directory: a conflict is a line that moves.
 */
#pragma once

#include <stdio.h>
#include "memory.h"
#include "table.h"

enum abort_reason { BY_LOCK, BY_CAPACITY, BY_CONFLICT, BY_IRREVOCABLE, ABORT_REASONS };
enum { MOST_SET = 4096, SET_SLOTS = 2 * MOST_SET };

struct transaction_counts {
	uint64_t begun, committed, fallbacks, aborted[ABORT_REASONS];
	uint64_t lost; /* time of all that was aborted, waiting for the lock included */
};

/* A line of a transaction. */
struct member {
	uint64_t line, after; /* the begin, first touched */
	bool wrote;
};

struct span {
	uint64_t from, until;
};

struct transaction {
	bool runs;
	bool locked; /* has fallen back to the lock */
	unsigned attempts; /* left */
	uint64_t began; /* the attempt; later than it was executed, where some were aborted */
	uint64_t owed;
	struct span last; /* the one before */
	unsigned members;
	struct member member[MOST_SET];
	uint16_t slot[SET_SLOTS]; /* by line: place in `member` + 1 */
	struct transaction_counts counts;
};

struct transactions {
	const struct machine *machine;
	unsigned cores;
	uint16_t *kernel;  /* of each core; below MOST_CORES */
	struct span *lock; /* MOST_CORES, of each kernel: the last fallback's */
	struct transaction *core;
	struct table records; /* of each line: the cores that touched it last */
};

/* `kernel`: of each core of the machine. */
void transactions_make(struct transactions *all, const struct machine *machine, const uint16_t *kernel);
void transactions_free(struct transactions *all);
static inline bool transaction_runs(const struct transactions *all, unsigned core) { return all->core[core].runs; }

/* Each returns what it costs the core at `now`. */
uint64_t transaction_begin(struct transactions *all, unsigned core, unsigned attempts, uint64_t now);
uint64_t transaction_commit(struct transactions *all, unsigned core, uint64_t now);
/* It found the kernel's lock held. */
uint64_t transaction_lock_held(struct transactions *all, unsigned core, uint64_t now);
/* It takes the kernel's lock. */
uint64_t transaction_irrevocable(struct transactions *all, unsigned core, uint64_t now);
/* The core touches the line, in its transaction. */
uint64_t transaction_touch(struct transactions *all, unsigned core, uint64_t line, bool store, uint64_t now);
/* The line moves, for whichever core. To be called before transaction_touch(). */
uint64_t transaction_moved(struct transactions *all, const struct movement *movement);

void transactions_reset(struct transactions *all);
/* Writes the sums over all cores as JSON. */
void transactions_write(FILE *out, const struct transactions *all);
