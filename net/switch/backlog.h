/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames that the switch has taken from their source and that wait for room in
 * the ring of their destination: one pool of buffers, a FIFO for each
 * destination.
 *
 * The pool is shared by dynamic thresholds (Choudhury and Hahne, 1998): a pair
 * of source and destination may hold half as many frames as are free. One slow
 * pair gets a third of the pool, n pairs get 1/(n + 2) each, and as much stays
 * free for the next. A source that floods a port takes nothing from the share
 * of the others that send to it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/port.h>
#include <skerry/process.h>

enum { BACKLOG_FRAMES = 1024, BACKLOG_NONE = 0xffff };

struct backlog_frame {
	uint16_t next;
	uint16_t length;
	uint8_t source;
};

struct backlog_queue {
	uint16_t first, last;
	unsigned count;
};

struct backlog {
	unsigned free;
	uint16_t free_first;
	struct backlog_queue queue[PROCESS_MAX_PORTS];
	uint16_t held[PROCESS_MAX_PORTS][PROCESS_MAX_PORTS]; /* by source and destination */
	struct backlog_frame frame[BACKLOG_FRAMES];
	_Alignas(64) uint8_t buffer[BACKLOG_FRAMES][PORT_FRAME_MAX];
};

void backlog_init(struct backlog *backlog);

static inline unsigned backlog_count(const struct backlog *backlog, unsigned destination)
{
	return backlog->queue[destination].count;
}

/* Appends a copy of the frame. False if the pair has its share of the pool already. */
bool backlog_hold(struct backlog *backlog, unsigned source, unsigned destination, const void *frame, uint32_t length);

/* Returns the oldest frame for this destination. */
const void *backlog_first(const struct backlog *backlog, unsigned destination, uint32_t *length);

/* Frees the frame that backlog_first() returns. */
void backlog_release(struct backlog *backlog, unsigned destination);
