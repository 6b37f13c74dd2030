/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that another core makes: the object's locality (CNODE_LOCALITY) leaves out the thread's core. The
 * thread itself is the message (Uhlig 2007, section 3.1). Its core marks it THREAD_AWAY and pushes it on the visitors of
 * the object's home, the first core of the locality, which it interrupts if there were none. The home makes the call for
 * the thread, with the thread's capabilities and registers. The thread then waits for the object as ever, or is woken with
 * the call's result.
 *
 * A call that cannot be made there (the locality has changed, it needs a second object that is away there, or capabilities
 * are passed on) comes back with nothing done and is made again on its own core, which has the kernel for itself then and
 * may touch everything. So no call travels twice without progress.
 *
 * What the kernel itself does at an object that is away (interrupts, doorbells, faults, deadlines) needs the kernel for
 * itself, too: writer_wanted().
 *
 * Hazard: a thread that is not at rest. From the push on, its core touches the thread no more, but to leave it; what the
 * home does with it may end before that, as with any thread that begins to wait (schedule.h).
 *
 * Hazard: visitors are work at interrupt level, whatever their priority. Each entry makes as many calls as its budget
 * allows (work.h), and the core interrupts itself for the rest.
 */
#pragma once

#include <skerry/cluster_mask.h>
#include "cpu.h"
#include "outcome.h"
#include LOCKING_HEADER

/* Whether this core makes a call for a thread of another core. */
static inline bool visits(struct cpu *cpu, const struct thread *thread)
{
	return objects_have_homes() && thread != cpu->shared.current;
}

/* For a call that finds the object away. */
static inline uint64_t object_away(struct cpu *cpu, const struct object_lock *lock)
{
	kernel_assert(objects_have_homes() && !object_here(cpu, lock));
	cpu->own.home = (uint32_t)mask_least(object_locality(lock));
	return KERNEL_AWAY;
}

/* For a signal that finds the object away, or what it is to end there. Returns true. */
static inline bool signal_away(struct cpu *cpu, const struct object_lock *lock)
{
	object_away(cpu, lock);
	return cpu->own.signal_away = true;
}

/* Whether the signal just made was not: KERNEL_AWAY. (notification_signal() returns nothing: it has no other result.) */
static inline bool signal_was_away(struct cpu *cpu)
{
	if (!objects_have_homes() || !cpu->own.signal_away)
		return false;
	cpu->own.signal_away = false;
	return true;
}

/* Work of this entry was left, for an object is away: the caller gets the kernel for itself and does the work again. */
static inline bool writer_wanted(struct cpu *cpu)
{
	if (!objects_have_homes() || !cpu->own.writer_wanted)
		return false;
	cpu->own.writer_wanted = false;
	return true;
}

/* The current thread, whose call has come to KERNEL_AWAY, goes to cpu->own.home. */
void visit_begin(struct cpu *cpu, struct thread *thread);
/* Makes the calls of threads that have come to this core. */
void visits_serve(struct cpu *cpu);
/* An AWAY thread that is suspended. The caller has the kernel for itself. */
void visit_cancel(struct cpu *cpu, struct thread *thread);
