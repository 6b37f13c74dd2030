/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stack of threads, linked by `next`, on which all cores push and from which one takes everything at once. Wait-free
 * for the taker, lock-free for pushes, never full. Hazard: ABA. It cannot occur: only an exclusive entry takes out a
 * single thread. All zeroes: empty.
 *
 * Memory order: a push is a release of all that its core did with the thread. A take is one acquire exchange, and
 * synchronises with every push: each later push is a read-modify-write, so it continues the release sequence of the
 * push before it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "assert.h"
#include "thread.h"

struct thread_stack {
	_Atomic(struct thread *) top;
};

/* Pushes the thread; the caller must not touch it afterwards. Returns whether the stack was empty. */
static inline bool thread_stack_push(struct thread_stack *stack, struct thread *thread)
{
	struct thread *top = atomic_load_explicit(&stack->top, memory_order_relaxed);
	do
		thread->next = top;
	while (!atomic_compare_exchange_weak_explicit(&stack->top, &top, thread, memory_order_release,
	                                              memory_order_relaxed));
	return !top;
}

/* All threads, linked by `next` in the order in which they were pushed; null: none. */
static inline struct thread *thread_stack_take(struct thread_stack *stack)
{
	struct thread *first = 0, *thread, *next;
	if (!atomic_load_explicit(&stack->top, memory_order_relaxed))
		return 0;
	for (thread = atomic_exchange_explicit(&stack->top, 0, memory_order_acquire); thread; thread = next) {
		next = thread->next;
		thread->next = first;
		first = thread;
	}
	return first;
}

/*
 * Takes out a thread. Caller's entry is exclusive. Returns whether the thread was in the stack; adds to *looked how
 * many threads it has looked at.
 */
static inline bool thread_stack_remove(struct thread_stack *stack, const struct thread *thread, unsigned *looked)
{
	struct thread *one = atomic_load_explicit(&stack->top, memory_order_relaxed), *before = 0;
	for (; one && one != thread; one = one->next, ++*looked)
		before = one;
	if (!one)
		return false;
	++*looked;
	if (before)
		before->next = one->next;
	else
		atomic_store_explicit(&stack->top, one->next, memory_order_relaxed);
	return true;
}
