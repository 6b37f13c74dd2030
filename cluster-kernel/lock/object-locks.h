/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ticket lock for each object, of the regimes whose entries run side by side. Object locks are taken in this order,
 * two of one kind in the order of their addresses:
 *
 *     notification, endpoint, reply object, run queue, TCB
 *
 * The regime defines kernel_locks_objects(), and includes localities.h before this header if its objects have
 * localities. Where kernel_locks_objects() is false the entry has the kernel for itself, and these functions do
 * nothing. It does not change between object_lock() and object_unlock().
 *
 * Where cores_own_queues(), which is a constant, run queues and TCBs have no locks. A run queue is its core's. A TCB's
 * lock guards only its run time: a core that leaves a thread may still be charging it when another core has woken the
 * thread. Where cores own their queues, no other core runs the thread before its core has left it, so that lock is not
 * needed.
 */
#ifndef OBJECT_LOCKS_H /* the explorer puts a copy with a mistake in its place */
#define OBJECT_LOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <skerry/syscall.h>
#include COUNT_HEADER
#include "annotations.h"
#include "no-localities.h"
#include "ticket_lock.h"

/* All zeroes: free, and any core may touch the object. */
struct IS_LOCK object_lock {
	struct ticket_lock ticket;
	struct lock_locality locality;
	uint64_t acquired; /* +stat: TSC */
};

/*
 * Inline: a message takes five of these locks, and calls would cost the fast path half as many instructions again, with
 * the registers that the caller must save.
 */
#define INLINE static inline __attribute__((always_inline))

INLINE bool kernel_locks_objects(struct cpu *cpu);
INLINE bool cores_own_queues(void);
INLINE bool kernel_has_readers(void) { return true; }

/* `class` is a constant. */
INLINE bool object_locks_class(struct cpu *cpu, enum lock_class class)
{
	return !(cores_own_queues() && class == LOCK_CLASS_RUN_QUEUE) && kernel_locks_objects(cpu);
}

INLINE void object_lock(struct cpu *cpu, struct object_lock *lock, enum lock_class class) TAKES(lock);
INLINE void object_unlock(struct cpu *cpu, struct object_lock *lock, enum lock_class class) RELEASES(lock);
INLINE void object_lock_pair(struct cpu *cpu, struct object_lock *a, struct object_lock *b,
                             enum lock_class class) TAKES(a, b);
INLINE void object_unlock_pair(struct cpu *cpu, struct object_lock *a, struct object_lock *b,
                               enum lock_class class) RELEASES(a, b);

NO_LOCK_ANALYSIS INLINE void object_lock(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	if (!object_locks_class(cpu, class))
		return;
	if (object_alone(cpu, lock))
		return;
	uint32_t ticket;
	uint64_t wanted = count_now();
	uint64_t spins = ticket_take(&lock->ticket, &ticket, 0); /* no waiter: kernel_relax() */
	count_acquired(cpu, class, &lock->acquired, wanted, spins);
}

NO_LOCK_ANALYSIS INLINE void object_unlock(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	if (!object_locks_class(cpu, class))
		return;
	if (object_alone(cpu, lock))
		return;
	count_released(cpu, class, lock->acquired);
	ticket_release_current(&lock->ticket);
}

/*
 * For an object that only this core touches (object_alone()): takes no lock, and only enters it in the record of held
 * locks (core/check/locking.h).
 */
INLINE void object_lock_alone(struct cpu *cpu, struct object_lock *lock, enum lock_class class) TAKES(lock);
INLINE void object_unlock_alone(struct cpu *cpu, struct object_lock *lock, enum lock_class class) RELEASES(lock);
NO_LOCK_ANALYSIS INLINE void object_lock_alone(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	(void)cpu, (void)lock, (void)class;
}
NO_LOCK_ANALYSIS INLINE void object_unlock_alone(struct cpu *cpu, struct object_lock *lock, enum lock_class class)
{
	(void)cpu, (void)lock, (void)class;
}

NO_LOCK_ANALYSIS INLINE void object_lock_pair(struct cpu *cpu, struct object_lock *a, struct object_lock *b,
                                              enum lock_class class)
{
	if (cores_own_queues())
		return;
	struct object_lock *first = a < b ? a : b, *second = a < b ? b : a;
	object_lock(cpu, first, class);
	object_lock(cpu, second, class);
}

NO_LOCK_ANALYSIS INLINE void object_unlock_pair(struct cpu *cpu, struct object_lock *a, struct object_lock *b,
                                                enum lock_class class)
{
	if (cores_own_queues())
		return;
	object_unlock(cpu, a, class);
	object_unlock(cpu, b, class);
}

/* An object begins (+1) or ceases (-1) to be. */
static inline void object_locks_change(struct cpu *cpu, enum skerry_object type, int change)
{
	if (type == OBJECT_TCB || type == OBJECT_REPLY)
		count_instance(cpu, LOCK_CLASS_TCB, change);
	else if (type == OBJECT_ENDPOINT)
		count_instance(cpu, LOCK_CLASS_ENDPOINT, change);
	else if (type == OBJECT_NOTIFICATION)
		count_instance(cpu, LOCK_CLASS_NOTIFICATION, change);
}

#undef INLINE

#endif
