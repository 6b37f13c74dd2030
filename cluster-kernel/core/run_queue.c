/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_queue.h"
#include "thread.h"

void run_queue_init(struct run_queue *queue) { queue->highest = -1; }

static void mark(struct run_queue *queue, int priority)
{
	queue->bitmap[priority / 64] |= 1ull << priority % 64;
	if (priority > queue->highest)
		queue->highest = priority;
}

static void unmark(struct run_queue *queue, int priority)
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
	unsigned p = thread->priority;
	thread->next = 0;
	thread->previous = queue->level[p].tail;
	if (thread->previous)
		thread->previous->next = thread;
	else
		queue->level[p].head = thread;
	queue->level[p].tail = thread;
	mark(queue, p);
}

void run_queue_prepend(struct run_queue *queue, struct thread *thread)
{
	unsigned p = thread->priority;
	thread->previous = 0;
	thread->next = queue->level[p].head;
	if (thread->next)
		thread->next->previous = thread;
	else
		queue->level[p].tail = thread;
	queue->level[p].head = thread;
	mark(queue, p);
}

void run_queue_remove(struct run_queue *queue, struct thread *thread)
{
	unsigned p = thread->priority;
	if (thread->previous)
		thread->previous->next = thread->next;
	else
		queue->level[p].head = thread->next;
	if (thread->next)
		thread->next->previous = thread->previous;
	else
		queue->level[p].tail = thread->previous;
	if (!queue->level[p].head)
		unmark(queue, p);
	thread->next = thread->previous = 0;
}

struct thread *run_queue_take(struct run_queue *queue)
{
	struct thread *thread = queue->level[queue->highest].head;
	run_queue_remove(queue, thread);
	return thread;
}
