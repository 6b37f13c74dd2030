/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path: Call to a server that waits, and ReplyRecv to a client that
 * waits for the reply. It is taken when all of this holds; else the slow path
 * (syscall.c) does the system call.
 *
 *     the message     no capabilities, words in registers only
 *     the CSpace      of one level
 *     the objects     here (visit.h)
 *     the receiver    waits, on this core, with no lower priority than the
 *                     current thread (so no ready thread has a higher one)
 *
 * Both paths have the same outcome, with one difference: here the receiver runs
 * at once; on the slow path it would be queued behind the ready threads of its
 * priority. These wait until the time slice ends, which the receiver continues.
 *
 * Locks are taken in the order notification, endpoint, reply, then both threads by address (object_lock_pair()).
 * Nothing is written before the threads are locked, so declining means only unlocking.
 *
 * Inline, because each port puts it between its own way in and its way out. Each function's `guard` is a constant, so
 * how objects are protected is decided once an entry and not at each lock.
 */
#pragma once

#include "arch.h"
#include "arch_switch.h"
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "reply.h"
#include "schedule.h"
#include "vspace.h"
#include LOCKING_HEADER

#define INLINE static inline __attribute__((always_inline))

/* What keeps others from the objects that an entry touches. */
enum fast_guard {
	FAST_KERNEL, /* the entry has the kernel for itself */
	FAST_LOCKS,  /* it takes the objects' locks */
	FAST_HOME,   /* no other core may touch them: a kernel_biased() entry, and each is object_alone() */
};

INLINE void fast_take(struct cpu *cpu, struct object_lock *lock, enum lock_class class, const enum fast_guard guard)
{
	if (guard == FAST_LOCKS)
		object_lock(cpu, lock, class);
	else if (guard == FAST_HOME)
		object_lock_alone(cpu, lock, class);
}

INLINE void fast_release(struct cpu *cpu, struct object_lock *lock, enum lock_class class, const enum fast_guard guard)
{
	if (guard == FAST_LOCKS)
		object_unlock(cpu, lock, class);
	else if (guard == FAST_HOME)
		object_unlock_alone(cpu, lock, class);
}

INLINE void fast_take_threads(struct cpu *cpu, struct thread *a, struct thread *b, const enum fast_guard guard)
{
	if (guard != FAST_KERNEL) /* where objects have homes, this takes nothing (object-locks.h) */
		object_lock_pair(cpu, &a->lock, &b->lock, LOCK_CLASS_TCB);
}

INLINE void fast_release_threads(struct cpu *cpu, struct thread *a, struct thread *b, const enum fast_guard guard)
{
	if (guard != FAST_KERNEL)
		object_unlock_pair(cpu, &a->lock, &b->lock, LOCK_CLASS_TCB);
}

/* Returns whether the guard does not cover this object: another guard is needed, or another core. */
INLINE bool fast_unguarded(struct cpu *cpu, const struct object_lock *lock, const enum fast_guard guard)
{
	return guard == FAST_HOME ? !object_alone(cpu, lock) : guard == FAST_LOCKS && !object_here(cpu, lock);
}

/* The capability `cptr` of a CSpace of one level; false when it is not one, or has no such slot. */
INLINE bool flat_lookup(const struct thread *thread, uint64_t cptr, const struct cap **cap)
{
	const struct cap *root = &thread->slot[THREAD_CSPACE].cap;
	kernel_assert(!root->limit || root->type == OBJECT_CNODE);
	if (cptr >= root->limit)
		return false;
	*cap = &((const struct slot *)root->object)[cptr].cap;
	return true;
}

INLINE bool is_endpoint(const struct cap *cap, uint8_t right)
{
	return cap->type == OBJECT_ENDPOINT && (cap->rights & right);
}

/*
 * Returns whether a direct switch from `current` to `next` is possible: one load
 * finds `next` blocked as *state_word says (blocked_state_word()), and its address
 * space needs no TLB flush on this core. The caller holds the lock of the object
 * at which `next` waits, so that no other core ends the wait meanwhile.
 */
INLINE bool may_switch(const struct cpu *cpu, const struct thread *current, const struct thread *next,
                       const uint64_t *state_word, const struct vspace *vspace)
{
	return thread_state_word(next) == *state_word && next->priority >= current->priority && vspace &&
	       vspace_tlb_is_valid(cpu, vspace);
}

/* Switches to `next`, which has received the message. Caller holds both threads' locks. */
INLINE void fast_switch(struct cpu *cpu, struct thread *from, struct thread *next, uint64_t info, uint64_t badge)
{
	assert_held(&from->lock);
	assert_held(&next->lock);
	kernel_assert(cpu->shared.current == from && from != next);
	kernel_assert(next->core == cpu->own.index && !next->queued && !next->in_timers);
	kernel_assert(!next->faulting);
	struct context *context = &next->context;
	if (__builtin_expect(message_words(info) != 0, 0))
		context_copy_words(context, &from->context, message_words(context_info(&from->context)));
	context_set_badge(context, badge);
	context_set_info(context, info);
	context_set_result(context, SKERRY_OK);
	thread_become(next, THREAD_READY);
	schedule_charge(from, next, arch_time());
	cpu->shared.current = next;
	count_switch(cpu, next);
}

INLINE const struct context *
fast_leave(struct cpu *cpu, struct thread *from, struct thread *next, struct vspace *vspace,
	   const enum fast_guard guard)
{
	kernel_assert(!cpu->own.pending && !cpu->own.handoff && kernel_locks_objects(cpu) == (guard != FAST_KERNEL));
	if (guard == FAST_HOME)
		kernel_exit_biased(cpu);
	else
		kernel_exit_reader(cpu, guard == FAST_LOCKS);
	arch_switch(cpu, from, next, vspace);
	return &next->context;
}

/* fastpath_call() with the lock held. Sets *unguarded if it has declined because the guard does not cover an object. */
INLINE const struct context *call_entered(struct cpu *cpu, struct thread *caller, uint64_t cptr, uint64_t info,
                                          const enum fast_guard guard, bool *unguarded)
{
	const struct cap *cap;
	if (!message_is_short(info) || !flat_lookup(caller, cptr, &cap) || !is_endpoint(cap, RIGHT_WRITE))
		return 0;
	struct endpoint *endpoint = (struct endpoint *)cap->object;
	if (fast_unguarded(cpu, &endpoint->lock, guard)) {
		*unguarded = true;
		return 0;
	}
	fast_take(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT, guard);
	struct thread *receiver = endpoint->receivers.head;
	if (!receiver)
		goto decline;
	struct reply *reply = receiver->reply;
	if (!reply)
		goto decline;
	struct vspace *vspace = thread_vspace(receiver);
	if (fast_unguarded(cpu, &reply->lock, guard)) {
		*unguarded = true;
		goto decline;
	}
	if (!may_switch(cpu, caller, receiver, &cpu->own.receives, vspace))
		goto decline;
	fast_take(cpu, &reply->lock, LOCK_CLASS_TCB, guard);
	kernel_assert(reply->thread == receiver && thread_endpoint(receiver) == endpoint);
	kernel_assert(!endpoint->senders.head && !caller->faulting);
	fast_take_threads(cpu, caller, receiver, guard);
	count_syscall(cpu, SYS_CALL, cptr);
	thread_queue_take(&endpoint->receivers, receiver);
	reply->thread = caller;
	caller->reply = reply;
	thread_become(caller, THREAD_REPLY);
	fast_switch(cpu, caller, receiver, info, cap->badge);
	fast_release_threads(cpu, caller, receiver, guard);
	fast_release(cpu, &reply->lock, LOCK_CLASS_TCB, guard);
	fast_release(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT, guard);
	return fast_leave(cpu, caller, receiver, vspace, guard);
decline:
	fast_release(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT, guard);
	return 0;
}

/*
 * The current thread calls through the endpoint capability `cptr`; cptr and info
 * are where the system call has them. Takes the lock and releases it. Returns the
 * registers to leave through; hardware work is done, nothing is pending.
 *
 * Returns null, with the lock held and nothing changed, to decline: kernel_syscall_entered() goes on.
 */
INLINE const struct context *fastpath_call(struct cpu *cpu, uint64_t cptr, uint64_t info)
{
	kernel_enter(cpu);
	struct thread *caller = current(cpu);
	bool unguarded = false;
	const struct context *context = 0;
	if (!kernel_locks_objects(cpu))
		return call_entered(cpu, caller, cptr, info, FAST_KERNEL, &unguarded);
	if (kernel_biased(cpu))
		context = call_entered(cpu, caller, cptr, info, FAST_HOME, &unguarded);
	return kernel_biased(cpu) && !unguarded ? context
	       : call_entered(cpu, caller, cptr, info, FAST_LOCKS, &unguarded);
}

/*
 * ReplyRecv: returns the caller to reply to, or null to take the slow path. The
 * caller of this holds the locks of the endpoint, the reply object and the
 * notification bound to the server, so that no sender and no signal comes between.
 */
INLINE struct thread *fast_caller(struct cpu *cpu, const struct thread *server, const struct endpoint *endpoint,
                                  const struct reply *reply, struct vspace **vspace)
{
	assert_held(&endpoint->lock);
	assert_held(&reply->lock);
	struct thread *caller = reply->thread;
	if (endpoint->senders.head || !caller || notification_pending(server->bound))
		return 0;
	*vspace = thread_vspace(caller);
	return may_switch(cpu, server, caller, &cpu->own.awaits, *vspace) ? caller : 0;
}

/* fast_unguarded() for each object that decides a receive (endpoint.h). */
INLINE bool fast_unguarded_to_receive(struct cpu *cpu, const struct thread *server, const struct endpoint *endpoint,
                                      const struct reply *reply,
                                   const enum fast_guard guard)
{
	if (guard == FAST_LOCKS)
		return endpoint_away_to_receive(cpu, server, endpoint, reply);
	return guard == FAST_HOME && (!object_alone(cpu, &endpoint->lock) || !object_alone(cpu, &reply->lock) ||
	                               (server->bound && !object_alone(cpu, &server->bound->lock)));
}

INLINE void fast_take_to_receive(struct cpu *cpu, const struct thread *server, struct endpoint *endpoint,
                                 struct reply *reply,
                                  const enum fast_guard guard)
{
	if (guard == FAST_LOCKS) {
		endpoint_lock_to_receive(cpu, server, endpoint, reply);
	} else if (guard == FAST_HOME) {
		if (server->bound)
			object_lock_alone(cpu, &server->bound->lock, LOCK_CLASS_NOTIFICATION);
		object_lock_alone(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
		object_lock_alone(cpu, &reply->lock, LOCK_CLASS_TCB);
	}
}

INLINE void fast_release_to_receive(struct cpu *cpu, const struct thread *server, struct endpoint *endpoint,
                                    struct reply *reply,
                                     const enum fast_guard guard)
{
	if (guard == FAST_LOCKS) {
		endpoint_unlock_to_receive(cpu, server, endpoint, reply);
	} else if (guard == FAST_HOME) {
		object_unlock_alone(cpu, &reply->lock, LOCK_CLASS_TCB);
		object_unlock_alone(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
		if (server->bound)
			object_unlock_alone(cpu, &server->bound->lock, LOCK_CLASS_NOTIFICATION);
	}
}

/* fastpath_reply_receive() with the lock held. Sets *unguarded as call_entered() does. */
INLINE const struct context *reply_receive_entered(struct cpu *cpu, struct thread *server, uint64_t cptr, uint64_t info,
                                                   uint64_t reply_cptr, const enum fast_guard guard, bool *unguarded)
{
	const struct cap *cap, *reply_cap;
	if (!message_is_short(info) || !flat_lookup(server, cptr, &cap) || !is_endpoint(cap, RIGHT_READ) ||
	    !flat_lookup(server, reply_cptr, &reply_cap) || reply_cap->type != OBJECT_REPLY)
		return 0;
	struct endpoint *endpoint = (struct endpoint *)cap->object;
	struct reply *reply = (struct reply *)reply_cap->object;
	struct vspace *vspace;
	/* a reply capability always has an object: the compiler may drop the tests for a receive without one */
	if (!reply)
		__builtin_unreachable();
	if (fast_unguarded_to_receive(cpu, server, endpoint, reply, guard)) {
		*unguarded = true;
		return 0;
	}
	fast_take_to_receive(cpu, server, endpoint, reply, guard);
	struct thread *caller = fast_caller(cpu, server, endpoint, reply, &vspace);
	if (caller) {
		kernel_assert(thread_is(caller, THREAD_REPLY) && caller->reply == reply);
		fast_take_threads(cpu, server, caller, guard);
		count_syscall(cpu, SYS_REPLY_RECV, cptr);
		context_set_syscall(&server->context, SYS_RECV); /* what it would make again */
		reply->thread = server;
		reply->rights = cap->rights;
		server->reply = reply;
		thread_waits_at(server, endpoint, THREAD_RECEIVING);
		thread_queue_append(&endpoint->receivers, server);
		fast_switch(cpu, server, caller, info, 0);
		fast_release_threads(cpu, server, caller, guard);
	}
	fast_release_to_receive(cpu, server, endpoint, reply, guard);
	return caller ? fast_leave(cpu, server, caller, vspace, guard) : 0;
}

/* ReplyRecv in the same way: replies through `reply_cptr`, then receives through `cptr`. */
INLINE const struct context *fastpath_reply_receive(struct cpu *cpu, uint64_t cptr, uint64_t info,
                                                           uint64_t reply_cptr)
{
	kernel_enter(cpu);
	struct thread *server = current(cpu);
	bool unguarded = false;
	const struct context *context = 0;
	if (!kernel_locks_objects(cpu))
		return reply_receive_entered(cpu, server, cptr, info, reply_cptr, FAST_KERNEL, &unguarded);
	if (kernel_biased(cpu))
		context = reply_receive_entered(cpu, server, cptr, info, reply_cptr, FAST_HOME, &unguarded);
	return kernel_biased(cpu) && !unguarded ? context
	       : reply_receive_entered(cpu, server, cptr, info, reply_cptr, FAST_LOCKS, &unguarded);
}

#undef INLINE
