/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_queue.h"
#include "assert.h"
#include "thread.h"

/* For assertions: walks the threads of one priority. */
static inline bool queue_holds(const struct run_queue *queue, const struct thread *thread)
{
	const struct thread *one = queue->level[thread->priority].head;
	while (one && one != thread)
		one = one->next;
	return one;
}

/* For assertions: returns whether the bitmap has a thread of the highest priority, and none of a higher one. */
static inline bool highest_is_right(const struct run_queue *queue)
{
	for (int p = PRIORITIES - 1; p > queue->highest; p--)
		if (queue->level[p].head || queue->bitmap[p / 64] >> p % 64 & 1)
			return false;
	return queue->highest < 0 ||
	       (queue->level[queue->highest].head && queue->bitmap[queue->highest / 64] >> queue->highest % 64 & 1);
}

void run_queue_init(struct run_queue *queue) { queue->highest = -1; }

static void priority_mark(struct run_queue *queue, int priority)
{
	queue->bitmap[priority / 64] |= 1ull << priority % 64;
	if (priority > queue->highest)
		queue->highest = priority;
}

static void priority_unmark(struct run_queue *queue, int priority)
{
	queue->bitmap[priority / 64] &= ~(1ull << priority % 64);
	if (priority < queue->highest)
		return;
	queue->highest = -1;
	for (int i = priority / 64; i >= 0 && queue->highest < 0; i--)
		if (queue->bitmap[i])
			queue->highest = i * 64 + 63 - __builtin_clzll(queue->bitmap[i]);
}

void run_queue_append(struct run_queue *queue, struct thread *thread)
{
	assert_held(&queue->lock);
	kernel_assert(!thread->queued && thread_is(thread, THREAD_READY));
	unsigned p = thread->priority;
	kernel_assert(!queue->level[p].tail || !queue->level[p].tail->next);
	kernel_assert_deep(!queue_holds(queue, thread));
	thread->next = 0;
	thread->previous = queue->level[p].tail;
	if (thread->previous)
		thread->previous->next = thread;
	else
		queue->level[p].head = thread;
	queue->level[p].tail = thread;
	priority_mark(queue, p);
	kernel_assert_deep(highest_is_right(queue));
}

void run_queue_prepend(struct run_queue *queue, struct thread *thread)
{
	assert_held(&queue->lock);
	kernel_assert(!thread->queued && thread_is(thread, THREAD_READY));
	unsigned p = thread->priority;
	kernel_assert(!queue->level[p].head || !queue->level[p].head->previous);
	kernel_assert_deep(!queue_holds(queue, thread));
	thread->previous = 0;
	thread->next = queue->level[p].head;
	if (thread->next)
		thread->next->previous = thread;
	else
		queue->level[p].tail = thread;
	queue->level[p].head = thread;
	priority_mark(queue, p);
}

void run_queue_remove(struct run_queue *queue, struct thread *thread)
{
	assert_held(&queue->lock);
	kernel_assert(thread->queued && queue->highest >= (int)thread->priority);
	unsigned p = thread->priority;
	kernel_assert(thread->previous ? thread->previous->next == thread : queue->level[p].head == thread);
	kernel_assert(thread->next ? thread->next->previous == thread : queue->level[p].tail == thread);
	kernel_assert_deep(queue_holds(queue, thread));
	if (thread->previous)
		thread->previous->next = thread->next;
	else
		queue->level[p].head = thread->next;
	if (thread->next)
		thread->next->previous = thread->previous;
	else
		queue->level[p].tail = thread->previous;
	if (!queue->level[p].head)
		priority_unmark(queue, p);
	thread->next = thread->previous = 0;
	kernel_assert_deep(highest_is_right(queue));
}

struct thread *run_queue_take(struct run_queue *queue)
{
	assert_held(&queue->lock);
	kernel_assert(queue->highest >= 0 && queue->level[queue->highest].head);
	struct thread *thread = queue->level[queue->highest].head;
	run_queue_remove(queue, thread);
	return thread;
}

struct thread *run_queue_exchange(struct run_queue *queue, struct thread *thread)
{
	assert_held(&queue->lock);
	kernel_assert(!thread->queued && thread_is(thread, THREAD_READY) && queue->highest == (int)thread->priority);
	kernel_assert_deep(!queue_holds(queue, thread));
	struct thread *first = queue->level[thread->priority].head, *second = first->next;
	struct thread *last = second ? queue->level[thread->priority].tail : 0;
	kernel_assert(first->queued && !first->previous);
	queue->level[thread->priority].head = second ? second : thread;
	queue->level[thread->priority].tail = thread;
	thread->previous = last;
	if (second) {
		second->previous = 0;
		last->next = thread;
	}
	thread->next = first->next = 0;
	kernel_assert_deep(highest_is_right(queue));
	return first;
}
