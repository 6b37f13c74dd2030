/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a network port (port.h): both rings, and the frames that belong
 * to their slots. The other end is not trusted: a frame's length is read once
 * and checked; its bytes may change while they are looked at, and may at worst
 * become another wrong frame.
 */
#pragma once

#include <stddef.h>
#include "port.h"

enum { ETHERNET_HEADER = 14 };

struct port_end {
	void *memory;
	enum port_direction out;
	struct ring_end transmit;
	struct ring_end receive;
};

/* `out` says which end this is: PORT_TO_SWITCH for stacks and drivers, PORT_FROM_SWITCH for the switch. */
static inline struct port_end port_end(void *memory, enum port_direction out)
{
	enum port_direction in = out == PORT_TO_SWITCH ? PORT_FROM_SWITCH : PORT_TO_SWITCH;

	return (struct port_end){
		.memory = memory,
		.out = out,
		.transmit = ring_producer(port_ring(memory, out), PORT_SLOTS),
		.receive = ring_consumer(port_ring(memory, in), PORT_SLOTS),
	};
}

/* The buffer (PORT_BUFFER bytes) of the next frame to send, or null when the ring is full. */
static inline void *port_reserve(struct port_end *end)
{
	if (!ring_reserve(&end->transmit))
		return NULL;
	return port_buffer(end->memory, end->out, end->transmit.position);
}

/* Send the frame written to the buffer that port_reserve() gave. */
static inline void port_publish(struct port_end *end, uint32_t length)
{
	struct ring_end *ring = &end->transmit;
	struct port_descriptor *descriptor = (void *)ring->ring->slot[ring->position & ring->mask].payload;

	__atomic_store_n(&descriptor->length, length, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptor->flags, 0, __ATOMIC_RELAXED);
	ring_publish(ring);
}

/*
 * The oldest received frame, or null when there is none. `*length` is between
 * ETHERNET_HEADER and PORT_FRAME_MAX, or 0 for a frame that lies about its
 * length: release it.
 */
static inline void *port_peek(struct port_end *end, uint32_t *length)
{
	struct port_descriptor *descriptor = ring_peek(&end->receive);

	if (!descriptor)
		return NULL;
	*length = __atomic_load_n(&descriptor->length, __ATOMIC_RELAXED);
	if (*length < ETHERNET_HEADER || *length > PORT_FRAME_MAX)
		*length = 0;
	return port_buffer(end->memory, end->out == PORT_TO_SWITCH ? PORT_FROM_SWITCH : PORT_TO_SWITCH,
			   end->receive.position);
}

static inline void port_release(struct port_end *end) { ring_release(&end->receive); }
