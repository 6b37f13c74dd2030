/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network port: the shared memory between a stack (or the NIC driver) and
 * the switch, in one cluster or over a channel. Two rings of descriptors, each
 * with one buffer per slot; slot i's frame is in buffer i, so that there is
 * nothing to allocate and frames stay in order. All zero is a valid port,
 * neither side of which has been opened.
 *
 * A cable is the same between two stacks of a cluster, with CABLE_SLOTS slots in
 * place of PORT_SLOTS. One of them has the place of the stack, the other that of
 * the switch.
 *
 *     0                 ring  stack -> switch (PORT_SLOTS slots)
 *     PORT_EPOCHS       struct port_epochs
 *     PORT_RING_SIZE    ring  switch -> stack
 *     PORT_BUFFERS      buffers of the first ring, then of the second
 *
 * Ethernet frames without FCS, at most PORT_FRAME_MAX bytes. Checksums of IPv4,
 * TCP, UDP and ICMP are neither made nor checked between ports, for memory does
 * not corrupt; the NIC driver makes them for what leaves the machine and
 * verifies what comes in.
 *
 * A full ring is never a lost frame: the producer waits for room (ring.h).
 *
 * Either side can end and be opened by a successor. Each life of a side has an
 * epoch, an even number that its cluster-manager takes from the TSC, so that no
 * two lives of a side have the same, and no life knows the next one's. A side
 * that opens the port withdraws its acknowledgement, empties the ring that it
 * fills, then writes its epoch. When it ends, its cluster-manager makes the epoch
 * odd: the port is closed. Whoever sees the other side's epoch change lets go of
 * both rings, empties the one that it fills, starts its ends anew at
 * port_position() and only then acknowledges that epoch. A side reads and writes
 * no frame before the other has acknowledged its epoch. So a frame is written
 * only when its reader has begun anew, and no frame of a former life is read.
 *
 * Before the other side's first life there is nobody to wait for: frames may be
 * put into the ring, and stay there when it opens the port.
 *
 * Neither side trusts the other, nor what a predecessor of the other has left.
 * Each keeps its own epoch and the one it has acknowledged privately. One that
 * finds its own words changed opens the port again, with its epoch + 2: for its
 * peer as if it had started again.
 */
#pragma once

#include <stdint.h>
#include <skerry/ring.h>

enum {
	PORT_SLOTS = 128,
	PORT_FRAME_MAX = 1536,
	PORT_BUFFER = PORT_FRAME_MAX,
	PORT_RING_SIZE = 12288,
	PORT_EPOCHS = PORT_RING_SIZE - 64,
	PORT_BUFFERS = 2 * PORT_RING_SIZE,
	PORT_SIZE = 0x66000, /* 408 KiB, a multiple of 4 KiB */
	CABLE_SLOTS = 64,
	CABLE_SIZE = 0x36000, /* 216 KiB, a multiple of 4 KiB */
};

struct port_descriptor {
	uint32_t length;
	uint32_t flags; /* none yet; 0 */
};

_Static_assert(sizeof(struct ring) + PORT_SLOTS * RING_SLOT <= PORT_EPOCHS, "the ring fits");
_Static_assert(PORT_BUFFERS + 2 * PORT_SLOTS * PORT_BUFFER <= PORT_SIZE, "the buffers fit");
_Static_assert(PORT_BUFFERS + 2 * CABLE_SLOTS * PORT_BUFFER <= CABLE_SIZE && CABLE_SIZE % 4096 == 0,
               "a cable's buffers fit");
_Static_assert(PORT_SIZE % 4096 == 0 && PORT_BUFFER % 64 == 0, "a port is whole pages, a buffer whole cache lines");
_Static_assert(CABLE_SLOTS <= PORT_SLOTS, "a cable's rings fit");

enum port_direction { PORT_TO_SWITCH = 0, PORT_FROM_SWITCH = 1 };

/* By the direction in which the side sends. One cache line: both sides read it often and write it seldom. */
struct port_epochs {
	_Alignas(64) struct port_side {
		_Atomic uint64_t epoch;        /* 0: never opened; odd: closed */
		_Atomic uint64_t acknowledged; /* the other side's epoch that this one goes by */
	} side[2];
};
_Static_assert(sizeof(struct port_epochs) == 64, "one cache line");

/* Returns the position where both rings start for this pair of epochs. */
/*@ requires mine / 2 + theirs / 2 < 1 << 20;
  @ assigns \nothing;
  @ ensures bits: \result == (mine / 2 + theirs / 2) * (1 << 44); */
static inline uint64_t port_position(uint64_t mine, uint64_t theirs) { return (mine / 2 + theirs / 2) << 44; }

/* Returns a direction's ring. `port` is the memory of a port or a cable. */
static inline struct ring *port_ring(void *port, enum port_direction direction)
{
	return (struct ring *)((char *)port + (uint64_t)direction * PORT_RING_SIZE);
}
/* Returns the words of the side that sends in this direction. */
static inline struct port_side *port_side(void *port, enum port_direction out)
{
	return &((struct port_epochs *)((char *)port + PORT_EPOCHS))->side[out];
}
/* Closes a side, as a cluster-manager does when its program has stopped. */
static inline void port_close(struct port_epochs *epochs, enum port_direction out)
{
	atomic_fetch_or_explicit(&epochs->side[out].epoch, 1, memory_order_release);
}
/* Returns where the buffer of a slot begins in a port's memory. */
/*@ requires direction <= 1 && 0 < slots <= PORT_SLOTS;
  @ requires power: (slots & (slots - 1)) == 0;
  @ assigns \nothing;
  @ ensures bits: PORT_BUFFERS <= \result && \result + PORT_BUFFER <= PORT_BUFFERS + 2 * slots * PORT_BUFFER; */
static inline uint64_t port_buffer_place(unsigned direction, uint64_t slots, uint64_t slot)
{
	return PORT_BUFFERS + (direction * slots + (slot & (slots - 1))) * PORT_BUFFER;
}
/* Returns the buffer of a slot; any `slot` gives one inside the port. `slots` is a power of two. */
static inline void *port_buffer(void *port, enum port_direction direction, uint64_t slots, uint64_t slot)
{
	return (char *)port + port_buffer_place(direction, slots, slot);
}
