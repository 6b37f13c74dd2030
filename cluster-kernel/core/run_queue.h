/* SPDX-License-Identifier: BSD-2-Clause */
/* Ready threads of one core: 256 priorities, first in first out in each. */
#pragma once

#include <stdint.h>
#include "annotations.h"
#include "lock.h"

struct thread;

enum { PRIORITIES = 256 };

struct run_queue {
	struct object_lock lock;
	int highest; /* priority that has a thread, -1: none has */
	uint64_t bitmap[PRIORITIES / 64];
	struct {
		struct thread *head, *tail;
	} level[PRIORITIES];
};

void run_queue_append(struct run_queue *queue, struct thread *thread) NEEDS(queue->lock);
void run_queue_prepend(struct run_queue *queue, struct thread *thread) NEEDS(queue->lock);
void run_queue_remove(struct run_queue *queue, struct thread *thread) NEEDS(queue->lock);
/* Takes the first thread of the highest priority. The queue must not be empty. */
struct thread *run_queue_take(struct run_queue *queue) NEEDS(queue->lock);
/* Takes the first thread of the highest priority, and appends another one of that priority. */
struct thread *run_queue_exchange(struct run_queue *queue, struct thread *thread) NEEDS(queue->lock);
void run_queue_init(struct run_queue *queue);
