/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regime `rtm`: the whole kernel between kernel_enter() and kernel_exit() is
 * one transaction, and cores meet only where they touch the same lines
 * (Elphinstone 2016, section 3.4; lock elision, Rajwar and Goodman 2001). When
 * transactions fail, the entry takes a lock, as in regime `clh` (clh_lock.h):
 *
 *     the lock in the read set   a transaction reads the queue's tail: a core
 *                                that takes the lock writes it, and aborts it
 *     the lock is held           then it waits outside, which costs no attempt;
 *                                but not for ever: the lock goes from core to
 *                                core in order, and one that waits outside is in no queue
 *     too large                  (capacity): the next would be, too; the lock
 *     not to be taken back       a device, another core: kernel_irrevocable(),
 *                                the lock
 *     all else                   an attempt; after `attempts` of them, the lock
 *
 * Creation and destruction are entries like all others: what in them cannot
 * be taken back says so itself, and what they read and write the hardware sees.
 *
 * Statistics are written outside transactions, or commit with them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include COUNT_HEADER
#include "../core/print.h"
#include "../core/regime.h"
#include "arch_transaction.h"
#include "clh_lock.h"
#include "no-object-locks.h"

/* The retry budget of one kernel entry before it takes the lock. */
struct rtm_retry_budget {
	/* transactions that may abort, not counting those that the lock aborts; 0: take the lock at once */
	uint32_t attempts;
	uint32_t turns;    /* of waiting for a lock that is held */
};

struct lock_kernel {
	struct clh_lock queue;        /* all transactions read its tail's line */
	struct rtm_retry_budget retry_budget; /* where this machine has transactions */
};

struct lock_cpu {
	struct clh_place place;
	uint64_t acquired; /* +stat: TSC */
	struct rtm_retry_budget retry_budget; /* the kernel's, without its line */
	uint32_t status;              /* of the last transaction that aborted */
	bool locked;                  /* this entry has the lock; else it is a transaction */
};

enum { RTM_TURNS = 1 << 14 }; /* far longer than a few entries take */

/* Codes of explicit aborts. */
enum { RTM_LOCK_HELD = 1, RTM_IRREVOCABLE = 2 };

/* The abort status (SDM volume 1, table 16-1); all clear: an interrupt, a fault, an instruction that aborts. */
enum { RTM_EXPLICIT = 1, RTM_RETRY = 2, RTM_CONFLICT = 4, RTM_CAPACITY = 8, RTM_DEBUG = 16, RTM_NESTED = 32,
       RTM_CODE_SHIFT = 24 };

static inline void lock_kernel_init(struct kernel *kernel)
{
	const char *reason = arch_no_transactions();
	clh_lock_init(&lock_of(kernel)->queue);
	if (reason)
		print("cluster %u: kernel rtm runs as clh: %s", kernel_cluster(kernel), reason);
	else
		lock_of(kernel)->retry_budget = (struct rtm_retry_budget){ RTM_ATTEMPTS /* the build's option */,
		                                                           RTM_TURNS };
}

static inline void lock_cpu_init(struct cpu *cpu)
{
	clh_place_init(&lock_own(cpu)->place);
	if (core_index(cpu) == 0)
		count_instance(cpu, LOCK_CLASS_KERNEL, 1);
	lock_own(cpu)->retry_budget = lock_shared(cpu)->retry_budget;
}

static inline bool rtm_lock_held(struct cpu *cpu) { return clh_held(&lock_shared(cpu)->queue); }

static inline enum abort_cause rtm_cause(uint32_t status)
{
	return status & RTM_EXPLICIT   ? ABORT_EXPLICIT
	       : status & RTM_CAPACITY ? ABORT_CAPACITY
	       : status & RTM_CONFLICT ? ABORT_CONFLICT
	       : status & RTM_DEBUG    ? ABORT_DEBUG
	       : status & RTM_NESTED   ? ABORT_NESTED
	       : status & RTM_RETRY    ? ABORT_RETRY
	                               : ABORT_OTHER;
}

/* A transaction has failed. Returns the retry budget that is left. */
static __attribute__((noinline, unused)) struct rtm_retry_budget rtm_aborted(struct cpu *cpu,
	struct rtm_retry_budget left)
{
	count_aborted(cpu, rtm_cause(lock_own(cpu)->status));
	uint32_t status = lock_own(cpu)->status, code = status & RTM_EXPLICIT ? status >> RTM_CODE_SHIFT : 0;
	bool waits = code == RTM_LOCK_HELD || rtm_lock_held(cpu);
	if (code == RTM_IRREVOCABLE || (status & RTM_CAPACITY))
		left.attempts = 0;
	else if (!waits)
		left.attempts--;
	for (; left.attempts && waits; waits = rtm_lock_held(cpu)) {
		if (left.turns-- == 0)
			left.attempts = 0;
		kernel_relax(cpu);
	}
	return left;
}

/* Out of line, as rtm_aborted(): rare paths, and the fallback of a machine without transactions. */
static __attribute__((noinline, unused)) void rtm_lock(struct cpu *cpu)
{
	struct lock_cpu *lock = lock_own(cpu);
	uint64_t wanted = count_now();
	uint64_t spins = clh_take(&lock_shared(cpu)->queue, &lock->place, cpu);
	count_entry(cpu);
	count_acquired(cpu, LOCK_CLASS_KERNEL, &lock->acquired, wanted, spins);
	lock_own(cpu)->locked = true;
	count_fallback(cpu);
}

static inline __attribute__((always_inline)) void kernel_enter(struct cpu *cpu)
{
	struct lock_cpu *lock = lock_own(cpu);
	for (struct rtm_retry_budget left = lock->retry_budget; left.attempts; left = rtm_aborted(cpu, left)) {
		count_begun(cpu);
		if (!arch_transaction_begin(&lock->status))
			continue;
		if (__builtin_expect(!rtm_lock_held(cpu), 1)) {
			count_entry(cpu);
			return;
		}
		arch_transaction_abort(RTM_LOCK_HELD);
	}
	rtm_lock(cpu);
}

static inline void kernel_enter_exclusive(struct cpu *cpu) { kernel_enter(cpu); }

/* Out of line, as kernel_irrevocable(), so that tests/structure/flow.py recognises in the image where a transaction has
 * ended. */
static __attribute__((noinline, unused)) void rtm_unlock(struct cpu *cpu)
{
	lock_own(cpu)->locked = false;
	count_released(cpu, LOCK_CLASS_KERNEL, lock_own(cpu)->acquired);
	clh_release(&lock_own(cpu)->place);
}

static inline void kernel_exit(struct cpu *cpu)
{
	if (__builtin_expect(lock_own(cpu)->locked, 0)) {
		rtm_unlock(cpu);
		return;
	}
	arch_transaction_end();
	count_committed(cpu);
}

/* Called before an effect that cannot be rolled back, or that aborts; returns with the lock held (core/lock.h). */
static __attribute__((noinline, cold, unused)) void kernel_irrevocable(struct cpu *cpu)
{
	if (!lock_own(cpu)->locked)
		arch_transaction_abort(RTM_IRREVOCABLE);
}
