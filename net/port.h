/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network port: the shared memory between a stack (or the NIC driver) and
 * the switch, in one cluster or over a channel. Two rings of descriptors, each
 * with one buffer per slot; slot i's frame is in buffer i, so that there is
 * nothing to allocate and frames stay in order. All zero is a valid port.
 *
 *     0                 ring  stack -> switch (PORT_SLOTS slots)
 *     PORT_RING_SIZE    ring  switch -> stack
 *     PORT_BUFFERS      buffers of the first ring, then of the second
 *
 * Ethernet frames without FCS, at most PORT_FRAME_MAX bytes. Checksums of IPv4,
 * TCP, UDP and ICMP are neither made nor checked between ports, for memory does
 * not corrupt; the NIC driver makes them for what leaves the machine and
 * verifies what comes in.
 *
 * A full ring is never a lost frame: the producer waits for room (ring.h).
 */
#pragma once

#include <stdint.h>
#include <skerry/ring.h>

enum {
	PORT_SLOTS = 256,
	PORT_FRAME_MAX = 1536,
	PORT_BUFFER = 2048,
	PORT_RING_SIZE = 20480,
	PORT_BUFFERS = 2 * PORT_RING_SIZE,
	PORT_SIZE = 0x120000, /* 1.125 MiB, a multiple of 4 KiB */
};

struct port_descriptor {
	uint32_t length;
	uint32_t flags; /* none yet; 0 */
};

_Static_assert(sizeof(struct ring) + PORT_SLOTS * RING_SLOT <= PORT_RING_SIZE, "the ring fits");
_Static_assert(PORT_BUFFERS + 2 * PORT_SLOTS * PORT_BUFFER <= PORT_SIZE, "the buffers fit");

enum port_direction { PORT_TO_SWITCH = 0, PORT_FROM_SWITCH = 1 };

static inline struct ring *port_ring(void *port, enum port_direction direction)
{
	return (struct ring *)((char *)port + (uint64_t)direction * PORT_RING_SIZE);
}
static inline void *port_buffer(void *port, enum port_direction direction, uint64_t slot)
{
	return (char *)port + PORT_BUFFERS + ((uint64_t)direction * PORT_SLOTS + (slot & (PORT_SLOTS - 1))) * PORT_BUFFER;
}
