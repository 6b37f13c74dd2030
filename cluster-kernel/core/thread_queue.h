/* SPDX-License-Identifier: BSD-2-Clause */
/* A first-in first-out queue of threads that wait for an object. */
#pragma once

#include "thread.h"

struct thread_queue {
	struct thread *head, *tail;
};

static inline void thread_queue_append(struct thread_queue *queue, struct thread *thread)
{
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
	struct thread *next = head->next;
	queue->head = next;
	if (__builtin_expect(!next, 1))
		queue->tail = 0;
	else
		next->previous = 0;
}

static inline void thread_queue_remove(struct thread_queue *queue, struct thread *thread)
{
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
