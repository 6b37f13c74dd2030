/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stack of threads, linked by `next`, on which all cores push and from which one takes everything at once. Nothing here
 * waits, and it is never full. As no thread is taken out alone, but by an entry that has the kernel for itself, there is no
 * ABA problem. All zeroes: empty.
 *
 * Memory order: a push releases what its core has done with the thread. A take acquires it from all that have pushed: each
 * push but the first is a read-modify-write of the one before, and so continues its release sequence.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "assert.h"
#include "thread.h"

struct thread_stack {
	_Atomic(struct thread *) top;
};

/* Returns whether the stack was empty. The thread is another core's from then on. */
static inline bool thread_stack_push(struct thread_stack *stack, struct thread *thread)
{
	struct thread *top = atomic_load_explicit(&stack->top, memory_order_relaxed);
	do
		thread->next = top;
	while (!atomic_compare_exchange_weak_explicit(&stack->top, &top, thread, memory_order_release, memory_order_relaxed));
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

static inline bool thread_stack_contains(const struct thread_stack *stack, const struct thread *thread)
{
	const struct thread *one = atomic_load_explicit(&stack->top, memory_order_relaxed);
	while (one && one != thread)
		one = one->next;
	return one;
}

/* One that is in it. The caller has the kernel for itself. */
static inline void thread_stack_remove(struct thread_stack *stack, struct thread *thread)
{
	struct thread *one = atomic_load_explicit(&stack->top, memory_order_relaxed);
	if (one == thread) {
		atomic_store_explicit(&stack->top, thread->next, memory_order_relaxed);
		return;
	}
	while (one->next != thread) {
		one = one->next;
		kernel_assert(one);
	}
	one->next = thread->next;
}
