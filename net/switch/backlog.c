/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "../copy.h"
#include "switch.h"

void backlog_init(struct backlog *backlog)
{
	for (unsigned i = 0; i < PROCESS_MAX_PORTS; i++) {
		backlog->queue[i] = (struct backlog_queue){ .first = BACKLOG_NONE, .last = BACKLOG_NONE };
		for (unsigned k = 0; k < PROCESS_MAX_PORTS; k++)
			backlog->held[i][k] = 0;
	}
	for (unsigned i = 0; i < BACKLOG_FRAMES; i++)
		backlog->frame[i].next = (uint16_t)(i + 1 < BACKLOG_FRAMES ? i + 1 : BACKLOG_NONE);
	backlog->free_first = 0;
	backlog->free = BACKLOG_FRAMES;
}

bool backlog_hold(struct backlog *backlog, unsigned source, unsigned destination, const void *frame, uint32_t length)
{
	struct backlog_queue *queue = &backlog->queue[destination];
	uint16_t number = backlog->free_first;
	struct backlog_frame *held = &backlog->frame[number];

	require(source < PROCESS_MAX_PORTS && destination < PROCESS_MAX_PORTS && backlog->free <= BACKLOG_FRAMES);
	require(length <= PORT_FRAME_MAX);
	if (backlog->held[source][destination] >= backlog->free / 2)
		return false;
	require(number < BACKLOG_FRAMES);
	require(queue->count ? queue->last < BACKLOG_FRAMES : queue->first == BACKLOG_NONE);
	backlog->free_first = held->next;
	backlog->free--;
	*held = (struct backlog_frame){ .next = BACKLOG_NONE, .length = (uint16_t)length, .source = (uint8_t)source };
	copy_bytes(backlog->buffer[number], frame, length);
	if (queue->count++)
		backlog->frame[queue->last].next = number;
	else
		queue->first = number;
	queue->last = number;
	backlog->held[source][destination]++;
	return true;
}

const void *backlog_first(const struct backlog *backlog, unsigned destination, uint32_t *length)
{
	require(backlog_count(backlog, destination));
	uint16_t number = backlog->queue[destination].first;

	require(number < BACKLOG_FRAMES && backlog->frame[number].length <= PORT_FRAME_MAX);
	*length = backlog->frame[number].length;
	return backlog->buffer[number];
}

void backlog_release(struct backlog *backlog, unsigned destination)
{
	struct backlog_queue *queue = &backlog->queue[destination];

	require(queue->count);
	uint16_t number = queue->first;
	struct backlog_frame *held = &backlog->frame[number];

	require(backlog->free < BACKLOG_FRAMES && backlog->held[held->source][destination]);
	queue->first = held->next;
	queue->count--;
	backlog->held[held->source][destination]--;
	held->next = backlog->free_first;
	backlog->free_first = number;
	backlog->free++;
}
