/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock that can be disabled while it is used (Uhlig 2007, section 2.3.1). A disabled lock belongs to one core, its
 * home, which takes it without an atomic instruction. All other cores find it *away* and may not touch what it guards.
 *
 *                  the home                 others
 *     enabled      locks                    lock
 *     demoting     locks                    away; a core that saw it enabled may still hold it
 *     disabled     takes nothing            away
 *     promoting    locks                    away; the home may still be inside without the lock
 *
 * A switch is final when all cores have left the entries in which they may have seen the old state (epoch.h): the home
 * makes a demoting lock disabled, any core a promoting one enabled, when it next takes it. Two switches are final at
 * once. The home may enable its own lock, since no other core is inside. A demotion may be taken back, since the home
 * still locks.
 *
 * Usable alone, as ticket_lock.h. A core takes a dynamic lock only between epoch_pass() and its next, in one entry.
 * All zeroes: enabled and free.
 */
#ifndef DYNAMIC_LOCK_H /* the explorer puts a copy with a mistake in its place */
#define DYNAMIC_LOCK_H

#include "epoch.h"
#include "ticket_lock.h"

enum dynamic_state { DYNAMIC_ENABLED, DYNAMIC_DEMOTING, DYNAMIC_DISABLED, DYNAMIC_PROMOTING };

/* The tag: the epoch mark of a switch that is not final in bits 0 to 15, home in 16 to 23, enum dynamic_state above. */
enum { DYNAMIC_HOME_SHIFT = 16, DYNAMIC_HOME = 0xff, DYNAMIC_STATE_SHIFT = 24 };

struct dynamic_lock {
	struct ticket_lock ticket;
	_Atomic uint32_t tag; /* enabled: 0 */
};

/* A core's own. */
struct dynamic_place {
	struct epoch_place epoch;
	uint32_t core;
	uint32_t alone; /* the tag of a lock that is disabled and whose home is this core */
};

/* How a core has taken a lock. It releases the lock in the same way. */
enum dynamic_hold { DYNAMIC_AWAY, DYNAMIC_ALONE, DYNAMIC_LOCKED };

static inline uint32_t dynamic_tag(enum dynamic_state state, uint32_t home, uint32_t mark)
{
	return (uint32_t)state << DYNAMIC_STATE_SHIFT | home << DYNAMIC_HOME_SHIFT | mark;
}
static inline enum dynamic_state dynamic_state(uint32_t tag)
{
	return (enum dynamic_state)(tag >> DYNAMIC_STATE_SHIFT);
}
static inline uint32_t dynamic_home(uint32_t tag) { return tag >> DYNAMIC_HOME_SHIFT & DYNAMIC_HOME; }

/* `core`: up to 254. */
static inline void dynamic_place_init(struct dynamic_place *place, uint32_t core)
{
	place->epoch.seen = 0;
	place->core = core;
	place->alone = dynamic_tag(DYNAMIC_DISABLED, core, 0);
}

/*
 * Replaces the tag. On failure *tag is the present one. Release: what the home did without the lock happens before any
 * core sees the lock enabled.
 */
static inline bool dynamic_change(struct dynamic_lock *lock, uint32_t *tag, uint32_t next)
{
	return atomic_compare_exchange_strong_explicit(&lock->tag, tag, next, memory_order_release,
	                                               memory_order_relaxed);
}

/*
 * Out of line: a lock that is neither enabled nor disabled for this core. Returns true if the caller must test *tag
 * again.
 */
static __attribute__((noinline, cold, unused)) enum dynamic_hold dynamic_take_switching(struct dynamic_lock *lock,
	const struct dynamic_place *own, uint32_t tag, struct cpu *waiter)
{
	uint32_t ticket;
	while (tag) {
		bool home = dynamic_home(tag) == own->core, over = epoch_over(&own->epoch, tag & EPOCH_NUMBER);
		if (dynamic_state(tag) == DYNAMIC_PROMOTING && (home || over)) {
			if (dynamic_change(lock, &tag, 0))
				break;
		} else if (!home) {
			return DYNAMIC_AWAY;
		} else if (dynamic_state(tag) == DYNAMIC_DEMOTING && !over) {
			break;
		} else if (tag == own->alone || dynamic_change(lock, &tag, own->alone)) {
			return DYNAMIC_ALONE;
		}
	}
	ticket_take(&lock->ticket, &ticket, waiter);
	return DYNAMIC_LOCKED;
}

/* Acquire: if the home has just enabled the lock, this core sees what the home did without it. */
static inline __attribute__((always_inline)) enum dynamic_hold dynamic_take(struct dynamic_lock *lock,
	const struct dynamic_place *own, struct cpu *waiter)
{
	uint32_t ticket, tag = atomic_load_explicit(&lock->tag, memory_order_acquire);
	if (tag == own->alone)
		return DYNAMIC_ALONE;
	if (__builtin_expect(tag != 0, 0))
		return dynamic_take_switching(lock, own, tag, waiter);
	ticket_take(&lock->ticket, &ticket, waiter);
	return DYNAMIC_LOCKED;
}

/* Releases the lock as it was taken. Its state may have changed since. */
static inline __attribute__((always_inline)) void dynamic_release(struct dynamic_lock *lock, enum dynamic_hold hold)
{
	if (hold == DYNAMIC_LOCKED)
		ticket_release_current(&lock->ticket);
}

/*
 * Begins to disable the lock, with `home` as its home. Returns false if it is not enabled. Sets *began if the caller
 * must interrupt all cores, as epoch_want(). The caller may hold the lock.
 */
static inline bool dynamic_demote(struct dynamic_lock *lock, struct epochs *epochs, const struct dynamic_place *own,
                                  uint32_t home,
	bool *began)
{
	uint32_t tag = 0;
	*began = false;
	if (!dynamic_change(lock, &tag, dynamic_tag(DYNAMIC_DEMOTING, home, epoch_mark(&own->epoch))))
		return false;
	*began = epoch_want(epochs, &own->epoch);
	return true;
}

/* Enables the lock, or begins to. *began as in dynamic_demote(). The caller must not be inside without the lock. */
static inline void dynamic_promote(struct dynamic_lock *lock, struct epochs *epochs, const struct dynamic_place *own,
                                   bool *began)
{
	uint32_t tag = atomic_load_explicit(&lock->tag, memory_order_acquire), next;
	*began = false;
	do {
		bool at_once = dynamic_state(tag) == DYNAMIC_DEMOTING || dynamic_home(tag) == own->core;
		if (!tag || (dynamic_state(tag) == DYNAMIC_PROMOTING && !at_once))
			return;
		next = at_once ? 0 : dynamic_tag(DYNAMIC_PROMOTING, dynamic_home(tag), epoch_mark(&own->epoch));
	} while (!dynamic_change(lock, &tag, next));
	if (next)
		*began = epoch_want(epochs, &own->epoch);
}

#endif
