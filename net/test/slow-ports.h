/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A switch whose ports take as many frames as a test says. Each frame has a number, so that none is lost, doubled or
 * overtaken unnoticed. Time is a counter of ticks, a thousand to a second.
 */
#pragma once

#include <string.h>
#include <sys/mman.h>
#include "../switch/forward.h"
#include "meet.h"
#include "test.h"

enum { PORTS = 12, UPLINK = 0, A, B, C, SECOND = 1000, ALL = 1 << 20 };

static struct forward forward;
static char *memory;
static struct port_end stack[PORTS];
static unsigned ports;
static uint64_t now = 1;
static uint32_t sent[PORTS][PORTS], received[PORTS][PORTS]; /* by source and destination */
static bool lossy[PORTS];                                   /* ports that may miss frames */

static inline void nobody_wakes(void *context, unsigned port)
{
	(void)context;
	(void)port;
}

static inline void set_up(unsigned count)
{
	struct process_port table[PORTS];

	ports = count;
	if (memory)
		munmap(memory, PORTS * PORT_SIZE);
	memory = mmap(NULL, PORTS * PORT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	for (unsigned i = 0; i < PORTS; i++) {
		table[i] = (struct process_port){ .mac = { 2, 0, 0, 0, 0, (uint8_t)i }, .uplink = i == UPLINK };
		stack[i] = port_open(memory + i * PORT_SIZE, PORT_TO_SWITCH, 2);
	}
	memset(sent, 0, sizeof(sent));
	memset(received, 0, sizeof(received));
	memset(lossy, 0, sizeof(lossy));
	forward_init(&forward, table, count, memory, SECOND, 2);
	forward_meet(&forward, stack, count, 1);
	forward_signal(&forward, nobody_wakes, NULL);
}

/* Sends what the source's ring has room for, each with its number. */
static inline unsigned put(unsigned from, unsigned to, unsigned count)
{
	unsigned done = 0;
	uint8_t *frame;

	for (; done < count && (frame = port_reserve(&stack[from])); done++) {
		memset(frame, 0, 64);
		frame[0] = frame[6] = 2;
		frame[5] = (uint8_t)to;
		frame[11] = (uint8_t)from;
		memcpy(frame + 14, &sent[from][to], 4);
		sent[from][to]++;
		port_publish(&stack[from], 64);
	}
	return done;
}

/* Takes up to `count` frames, which are in order from each source, and complete but at lossy ports. */
static inline unsigned take(unsigned at, unsigned count)
{
	uint32_t length, number;
	const uint8_t *frame;
	unsigned done = 0;

	for (; done < count && (frame = port_peek(&stack[at], &length)); done++) {
		unsigned from = frame[11];

		CHECK(length == 64 && frame[5] == at);
		memcpy(&number, frame + 14, 4);
		CHECK(number == received[from][at] || (lossy[at] && number > received[from][at]));
		received[from][at] = number + 1;
		port_release(&stack[at]);
	}
	return done;
}

static inline void pass(void)
{
	do
		while (forward_pass(&forward, now))
			;
	while (forward_last_pass(&forward, now));
	CHECK(!forward.deadline || forward.deadline > now);
}

static inline void check_idle(void)
{
	pass();
	CHECK(forward.backlog.free == BACKLOG_FRAMES && !forward.behind && !forward.deadline);
	for (unsigned i = 0; i < ports; i++)
		CHECK(!forward.port[i].late);
}
