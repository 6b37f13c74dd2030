/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that another core makes: the object's locality (CNODE_LOCALITY) leaves out the thread's core. The
 * thread itself is the message (Uhlig 2007, section 3.1). Its core marks it THREAD_AWAY and pushes it on the visitors
 * of the object's home, the first core of the locality, which it interrupts if there were none. The home makes the call
 * for the thread, with the thread's capabilities and registers. The thread then waits for the object as ever, or is
 * woken with the call's result.
 *
 * A call that cannot be made there (the locality has changed, it needs a second object that is away there, or
 * capabilities are passed on) comes back with nothing done and is made again on its own core, which has the kernel for
 * itself then and may touch everything. So no call travels twice in vain.
 *
 * Nor does a call travel to a home for which VISITORS_MAX others wait: however many threads call, one of them is found
 * in bounded time when it is suspended or destroyed.
 *
 * What the kernel itself does at an object that is away (interrupts, doorbells, faults, deadlines) needs the kernel for
 * itself, too: writer_wanted.
 *
 * Hazard: a thread whose core has not left it yet. After the push its core does nothing with the thread but leave it.
 * The home may finish the call before that, as with any thread that begins to wait (schedule.h).
 *
 * Hazard: priority inversion. Visitors' calls are made at interrupt level, whatever the threads' priorities. Each entry
 * makes as many calls as its budget allows (work.h). Then the core's own threads have a turn (`visits_until`): twice as
 * long as the calls took, but no longer than a time slice, since a host may have stolen that time; and
 * kernel->visit_turn, which is more than the entries themselves take. A visitor that comes meanwhile interrupts the
 * core once; the core sets its timer for the end of the turn (`visits_at`). So however many visitors come, own threads
 * have more than half of their core. A core that idles makes calls at once.
 */
#pragma once

#include <skerry/cluster_mask.h>
#include "arch.h"
#include "cpu.h"
#include "outcome.h"
#include LOCKING_HEADER

/* Each core may add one more, and as many may have been taken already. */
enum { VISITORS_MAX = STACK_LONG };

/* Returns whether this core makes the call for a thread of another core. */
static inline bool visits(struct cpu *cpu, const struct thread *thread)
{
	return objects_have_homes() && thread != cpu->shared.current;
}

/* For a call that finds the object away: names the core that makes it, the first of the locality. Returns
 * KERNEL_AWAY. */
static inline uint64_t defer_to_owner(struct cpu *cpu, const struct object_lock *lock)
{
	kernel_assert(objects_have_homes() && !object_here(cpu, lock));
	cpu->own.home = (uint32_t)mask_least(object_locality(lock));
	return KERNEL_AWAY;
}

/* Records that a signal finds the object, or the object of the receive that it would end, away. Returns true. */
static inline bool signal_defer(struct cpu *cpu, const struct object_lock *lock)
{
	defer_to_owner(cpu, lock);
	return cpu->own.signal_deferred = true;
}

/*
 * Returns whether the last notification_signal() did nothing, because an object was away (KERNEL_AWAY), and clears the
 * record. That function has no other result, so it returns nothing.
 */
static inline bool take_signal_deferred(struct cpu *cpu)
{
	if (!objects_have_homes() || !cpu->own.signal_deferred)
		return false;
	cpu->own.signal_deferred = false;
	return true;
}

/*
 * Returns whether this entry has left work because an object is away, and clears the record. The caller then makes the
 * entry exclusive and does the work again.
 */
static inline bool take_writer_wanted(struct cpu *cpu)
{
	if (!objects_have_homes() || !cpu->own.writer_wanted)
		return false;
	cpu->own.writer_wanted = false;
	return true;
}

/* The current thread, whose call has come to KERNEL_AWAY, goes to cpu->own.home, or makes its call again as the
 * writer. */
void visit_begin(struct cpu *cpu, struct thread *thread);
/* Makes the calls of threads that have come to this core, within the entry's work budget, unless its own threads have a
 * turn. */
void visits_serve(struct cpu *cpu);
/* Whether the timer is due because of visitors. */
static inline bool visits_due(const struct cpu *cpu)
{
	return objects_have_homes() && cpu->own.visits_at && cpu->own.visits_at <= arch_time();
}
/* Called where the core begins to idle: no own thread is there whose turn visitors must wait for. */
static inline void visits_idle(struct cpu *cpu)
{
	if (objects_have_homes() && cpu->own.visits_at)
		cpu_interrupt(cpu, cpu->own.index);
}
/* Takes out an AWAY thread that is being suspended. Caller's entry is exclusive. */
void visit_cancel(struct cpu *cpu, struct thread *thread);
