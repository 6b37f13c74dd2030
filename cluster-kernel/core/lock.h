/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock seam. Concurrency in the kernel is decided here and nowhere else:
 *
 *     kernel_enter(cpu)            every entry from user mode or an interrupt
 *     kernel_enter_exclusive(cpu)  creation and destruction of objects (a
 *                                  writer, where the regime tells them apart)
 *     kernel_exit(cpu)             the end of either
 *     kernel_exit_reader(cpu, locks)
 *                                  the end of an entry that has not asked to be
 *                                  exclusive; `locks` is kernel_locks_objects()
 *                                  of it, as a constant
 *     kernel_irrevocable(cpu)      before an effect that cannot be rolled back,
 *                                  or that aborts a transaction: devices, other
 *                                  cores, control registers, waiting. Returns
 *                                  with the lock held, or the entry begins anew
 *                                  and takes the lock
 *     kernel_exclusive(cpu)        whether the entry has the kernel for itself:
 *                                  always, where the regime does not tell
 *                                  readers from writers
 *     kernel_locks_objects(cpu)    whether the entry takes object locks; where
 *                                  it does not, it has the kernel for itself
 *     kernel_has_readers()         constant: entries may run side by side
 *     cores_own_queues()           constant: of entries that run side by side, a
 *                                  thread's core alone changes the thread's place
 *                                  (schedule.h), and takes no lock for that
 *     kernel_enter_biased(cpu), kernel_enter_unbiased(cpu)
 *                                  kernel_enter() in two steps, where objects have homes: true if the entry has
 *                                  begun and needs nothing but a word of its core's own; if not, the second begins it
 *     kernel_biased(cpu)           whether this entry has begun so
 *     kernel_exit_biased(cpu)      the end of such an entry
 *     kernel_granularity(cpu, wanted, &under_way)
 *                                  begins to take one lock for the kernel, or
 *                                  one for each object; false where the
 *                                  regime has no such choice
 *     kernel_is_coarse(cpu), kernel_is_fine(cpu)
 *                                  where cores own their queues: whether one lock of the kernel alone, or those of
 *                                  what it touches alone, keep others from this entry; neither while it changes
 *     kernel_count_core(cpu, core, here)
 *                                  what changes the locks waits for that core,
 *                                  too, or no longer; false while it does.
 *                                  The core is not in the kernel, or idles
 *     objects_have_homes()         constant: an object may have a locality, the cores that may touch it
 *     object_here(cpu, &x->lock)   whether this entry may touch the object; elsewhere, visit.h
 *     object_alone(cpu, &x->lock)  whether this core alone may touch it, and needs no lock for that
 *     object_locality(&x->lock)    the cluster mask; MASK_ALL: every core
 *     object_set_locality(&x->lock, mask)
 *                                  by an entry that has the kernel for itself
 *     object_lock(cpu, &x->lock, class)
 *     object_unlock(...)           around one TCB, reply object, endpoint,
 *                                  notification or run queue;
 *                                  object_lock_pair in address order
 *     object_lock_alone(...), object_unlock_alone(...)
 *                                  the same where object_alone(), for the record of held locks
 *
 * Lock order: notification, endpoint, reply object, run queue, TCB.
 *
 * One header of ../lock/ fulfils it, chosen by the build as REGIME_HEADER. It
 * defines the functions, over what regime.h shows of the kernel, and the parts
 * that embed into other structures:
 *
 *     struct lock_kernel   in struct kernel
 *     struct lock_cpu      in struct cpu, private
 *     struct object_lock   in objects
 *
 * Sources of core/ that take locks include LOCKING_HEADER: in debug and hosted
 * builds it puts a record of the locks that each core holds around the
 * functions (assert.h).
 *
 * A waiting loop must call kernel_relax(cpu), so that a core that waits for
 * the lock serves what the holder asks of it (remote.h). Where it waits for an
 * object's lock it calls kernel_relax(0), which serves nothing: there is no
 * writer then, and the fast path must not lose translations on its way.
 */
#pragma once

#include <stdint.h>
#include "assert.h"
#include "regime.h"
#include REGIME_HEADER
