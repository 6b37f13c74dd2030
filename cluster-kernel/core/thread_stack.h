/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stack of threads, linked by `next`, on which all cores push and from which one takes everything at once. Wait-free
 * for the taker, lock-free for pushes, never full. Hazard: ABA. It cannot occur: only an exclusive entry takes out a
 * single thread. All zeroes: empty.
 *
 * One word holds the thread that was pushed last, how many there are, and a *level*: a push interrupts the taker if the
 * thread's level is not below it. The level is one above that thread's then, for the taker will look, and those that
 * come after it need not interrupt it again. A thread that makes the stack long interrupts the taker in any case.
 * Hazard: lost wake-up. The taker lowers the level only by a compare-and-swap that finds the stack empty: no thread
 * that has interrupted nobody is left behind. One word, so nothing can be reordered.
 *
 * Memory order: a push is a release of all that its core did with the thread. A take is one acquire exchange, and
 * synchronises with every push: each later push is a read-modify-write, so it continues the release sequence of the
 * push before it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <skerry/syscall.h>
#include "assert.h"
#include "run_queue.h"
#include "thread.h"

struct thread_stack {
	_Atomic uint64_t word; /* its level, address bits of a thread, and the count: as far as it can be counted */
};

enum {
	STACK_LONG = 64,
	STACK_COUNT_MAX = (1 << TCB_BITS) - 1,
	STACK_LEVEL_SHIFT = 48, /* the address's bits from here on are copies of the bit below */
	STACK_ALWAYS = PRIORITIES + 2, /* level of a thread that interrupts the taker unless it will look already */
	STACK_ASKED, /* the taker will look: no push interrupts it */
};

/*@ assigns \nothing; ensures bits: \result == word / (1 << STACK_LEVEL_SHIFT); */
static inline unsigned stack_level(uint64_t word) { return (unsigned)(word >> STACK_LEVEL_SHIFT); }
/*@ assigns \nothing; ensures bits: \result == word % (STACK_COUNT_MAX + 1); */
static inline unsigned stack_count(uint64_t word) { return word & STACK_COUNT_MAX; }
static inline struct thread *stack_last(uint64_t word)
{
	return (struct thread *)((int64_t)(word << (64 - STACK_LEVEL_SHIFT)) >> (64 - STACK_LEVEL_SHIFT) &
	                         ~(int64_t)STACK_COUNT_MAX);
}
static inline uint64_t stack_word(const struct thread *last, unsigned count, unsigned level)
{
	kernel_assert(!((uint64_t)last & STACK_COUNT_MAX) && count <= STACK_COUNT_MAX && level <= STACK_ASKED);
	return ((uint64_t)last & ((1ull << STACK_LEVEL_SHIFT) - 1)) | count | (uint64_t)level << STACK_LEVEL_SHIFT;
}
static inline uint64_t thread_stack_word(const struct thread_stack *stack)
{
	return atomic_load_explicit(&stack->word, memory_order_relaxed);
}
static inline bool thread_stack_empty(const struct thread_stack *stack)
{
	return !stack_last(thread_stack_word(stack));
}

/* Pushes the thread; the caller must not touch it afterwards. Returns whether the taker is to be interrupted. */
static inline bool thread_stack_push(struct thread_stack *stack, struct thread *thread, unsigned level)
{
	uint64_t word = thread_stack_word(stack), pushed;
	bool interrupts;
	do {
		unsigned count = stack_count(word) < STACK_COUNT_MAX ? stack_count(word) + 1 : STACK_COUNT_MAX;
		unsigned own = count == STACK_LONG ? STACK_ALWAYS : level;
		interrupts = own >= stack_level(word);
		thread->next = stack_last(word);
		pushed = stack_word(thread, count, interrupts ? own + 1 : stack_level(word));
	} while (!atomic_compare_exchange_weak_explicit(&stack->word, &word, pushed, memory_order_release,
	                                                memory_order_relaxed));
	return interrupts;
}

/*
 * All threads, linked by `next` in the order in which they were pushed; null: none. The stack is empty then, and of
 * this level.
 */
static inline struct thread *thread_stack_take(struct thread_stack *stack, unsigned level)
{
	struct thread *first = 0, *thread, *next;
	uint64_t taken = atomic_exchange_explicit(&stack->word, stack_word(0, 0, level), memory_order_acquire);
	for (thread = stack_last(taken); thread; thread = next) {
		next = thread->next;
		thread->next = first;
		first = thread;
	}
	return first;
}

/*
 * Makes the level, which the taker has set to *set, this one; by the taker. Does nothing if threads have come. Returns
 * false if they may not be below it and have interrupted nobody.
 */
static inline bool thread_stack_set_level(struct thread_stack *stack, unsigned *set, unsigned level)
{
	uint64_t word = thread_stack_word(stack);
	do
		if (stack_last(word))
			return stack_level(word) != *set || *set <= level;
	while (!atomic_compare_exchange_weak_explicit(&stack->word, &word, stack_word(0, 0, level),
	                                              memory_order_relaxed, memory_order_relaxed));
	*set = level;
	return true;
}

/* From now on no push interrupts the taker, until it takes the threads. */
static inline void thread_stack_quieten(struct thread_stack *stack)
{
	uint64_t word = thread_stack_word(stack);
	while (!atomic_compare_exchange_weak_explicit(
		&stack->word, &word, stack_word(stack_last(word), stack_count(word), STACK_ASKED), memory_order_relaxed,
		memory_order_relaxed))
		;
}

/*
 * The same for another core's stack, if its level is higher. Caller's entry is exclusive. Returns whether that core is
 * to be interrupted: threads are there that may not be below the level.
 */
static inline bool thread_stack_lower(struct thread_stack *stack, unsigned *set, unsigned level)
{
	uint64_t word = thread_stack_word(stack);
	bool interrupts = stack_last(word);
	if (stack_level(word) <= level)
		return false;
	*set = level;
	atomic_store_explicit(&stack->word, stack_word(stack_last(word), stack_count(word),
	                                               interrupts ? STACK_ASKED : level), memory_order_relaxed);
	return interrupts;
}

/* Takes a thread out of a list. Returns whether it was there; adds to *looked how many threads were looked at. */
static inline bool thread_list_remove(struct thread **first, const struct thread *thread, unsigned *looked)
{
	for (struct thread **link = first; *link; link = &(*link)->next) {
		++*looked;
		if (*link == thread) {
			*link = thread->next;
			return true;
		}
	}
	return false;
}

/*
 * The same for a stack, which has level `empty` if no thread is left: the one that raised it interrupts the taker, but
 * those that come after that interrupt must, too. Caller's entry is exclusive.
 */
static inline bool thread_stack_remove(struct thread_stack *stack, const struct thread *thread, unsigned empty,
                                       unsigned *looked)
{
	uint64_t word = thread_stack_word(stack);
	struct thread *last = stack_last(word);
	if (!thread_list_remove(&last, thread, looked))
		return false;
	word = stack_word(last, stack_count(word) - 1, last ? stack_level(word) : empty);
	atomic_store_explicit(&stack->word, word, memory_order_relaxed);
	return true;
}
