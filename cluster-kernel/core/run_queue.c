/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_queue.h"
#include "thread.h"

static void mark(struct run_queue *queue, unsigned priority)
{
	queue->bitmap[priority / 64] |= 1ull << priority % 64;
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
		queue->bitmap[p / 64] &= ~(1ull << p % 64);
	thread->next = thread->previous = 0;
}

int run_queue_highest(const struct run_queue *queue)
{
	for (int i = PRIORITIES / 64 - 1; i >= 0; i--)
		if (queue->bitmap[i])
			return i * 64 + 63 - __builtin_clzll(queue->bitmap[i]);
	return -1;
}

struct thread *run_queue_take(struct run_queue *queue, int priority)
{
	struct thread *thread = queue->level[priority].head;
	run_queue_remove(queue, thread);
	return thread;
}
