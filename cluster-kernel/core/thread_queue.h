/* SPDX-License-Identifier: BSD-2-Clause */
/* A first-in first-out queue of threads that wait for an object. */
#pragma once

#include "assert.h"
#include "thread.h"

struct thread_queue {
	struct thread *head, *tail;
};

/* For assertions: walks the queue. */
static inline bool thread_queue_contains(const struct thread_queue *queue, const struct thread *thread)
{
	const struct thread *one = queue->head;
	while (one && one != thread)
		one = one->next;
	return one;
}

static inline void thread_queue_append(struct thread_queue *queue, struct thread *thread)
{
	kernel_assert(!queue->head == !queue->tail);
	kernel_assert(!queue->tail || !queue->tail->next);
	kernel_assert_deep(!thread_queue_contains(queue, thread));
	thread->next = 0;
	thread->previous = queue->tail;
	if (queue->tail)
		queue->tail->next = thread;
	else
		queue->head = thread;
	queue->tail = thread;
}

/* Removes the first. */
static inline void thread_queue_take(struct thread_queue *queue, const struct thread *head)
{
	kernel_assert(queue->head == head && !head->previous);
	kernel_assert(head->next ? head->next->previous == head : queue->tail == head);
	struct thread *next = head->next;
	queue->head = next;
	if (__builtin_expect(!next, 1))
		queue->tail = 0;
	else
		next->previous = 0;
}

static inline void thread_queue_remove(struct thread_queue *queue, struct thread *thread)
{
	kernel_assert(thread->previous ? thread->previous->next == thread : queue->head == thread);
	kernel_assert(thread->next ? thread->next->previous == thread : queue->tail == thread);
	kernel_assert_deep(thread_queue_contains(queue, thread));
	if (thread->previous)
		thread->previous->next = thread->next;
	else
		queue->head = thread->next;
	if (thread->next)
		thread->next->previous = thread->previous;
	else
		queue->tail = thread->previous;
	thread->next = thread->previous = 0;
}
