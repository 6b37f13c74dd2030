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

/* Removes the first, which there is. */
static inline void thread_queue_take(struct thread_queue *queue)
{
	struct thread *next = queue->head->next;
	queue->head = next;
	if (next)
		next->previous = 0;
	else
		queue->tail = 0;
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
