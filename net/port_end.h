/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a network port or a cable (port.h): both rings, and the frames that
 * belong to their slots. The other end is not trusted: a frame's length is read once
 * and checked; its bytes may change while they are looked at, and may at worst
 * become another wrong frame.
 *
 * An end that was opened gives and takes frames once port_poll() has found that
 * both sides have acknowledged each other. Its owner calls port_poll() whenever
 * it is woken, and signals the other end when that returns true.
 */
#pragma once

#include <stddef.h>
#include <skerry/bell.h>
#include <skerry/port.h>
#include <skerry/require.h>

enum { ETHERNET_HEADER = 14 };

struct port_end {
	void *memory;
	struct port_side *mine, *theirs; /* of the words in that memory */
	char *sent, *received;           /* and of the buffers */
	enum port_direction out;
	bool up;       /* both sides have acknowledged each other */
	bool may_send; /* up, or the other side has had no life yet */
	uint64_t own;  /* epoch */
	uint64_t seen; /* the other side's epoch that was acknowledged last; 0: none */
	struct ring_end transmit;
	struct ring_end receive;
	/* the far end's process's; null: it is in another cluster, and the rings have flags instead */
	const struct bell *bell;
	uint64_t rung;               /* bell.h */
};

/* Returns the slots of each ring. The masks are this side's own copy, which the other side cannot change. */
static inline uint64_t port_slots(const struct port_end *end) { return end->transmit.mask + 1; }

static inline enum port_direction port_in(const struct port_end *end)
{
	return end->out == PORT_TO_SWITCH ? PORT_FROM_SWITCH : PORT_TO_SWITCH;
}
static inline struct port_side *port_mine(const struct port_end *end) { return end->mine; }
static inline struct port_side *port_theirs(const struct port_end *end) { return end->theirs; }

/* A side with this epoch has a program that runs. */
static inline bool port_is_open(uint64_t epoch) { return epoch && !(epoch & 1); }

/* Frames since the ring was started. */
static inline uint64_t port_count(const struct ring_end *end) { return end->position & (port_position(2, 0) - 1); }

/*
 * Starts both rings for the other side's `epoch`. The slots of the one that we
 * fill hold nothing that its reader could take, whatever a predecessor left
 * there, except the frames that were put before the other side's first life.
 */
static inline void port_start_rings(struct port_end *end, uint64_t epoch)
{
	const unsigned slots = (unsigned)port_slots(end);
	uint64_t position = port_position(end->own, epoch), carried = 0;
	struct ring *ring = port_ring(end->memory, end->out);

	require(slots && !(slots & (slots - 1)) && port_is_open(end->own));
	if (end->may_send && !end->up)
		carried = port_count(&end->transmit);
	if (carried > slots) /* another party has written to the words */
		carried = 0;
	for (uint64_t i = 0; i < slots; i++)
		atomic_store_explicit(&ring->slot[i].sequence, i < carried ? position + i + 1 : 0,
		                      memory_order_relaxed);
	end->transmit = ring_producer_at(ring, slots, position);
	end->transmit.position += carried;
	end->receive = ring_consumer_at(port_ring(end->memory, port_in(end)), slots, position);
}

/* Publishes this life's epoch to the other side. */
static inline void port_announce(struct port_end *end)
{
	atomic_store_explicit(&port_mine(end)->acknowledged, 0, memory_order_relaxed);
	atomic_store_explicit(&port_mine(end)->epoch, end->own, memory_order_release);
	end->seen = 0;
}

/* port_open() with so many slots: of a port or of a cable. */
static inline struct port_end port_open_slots(void *memory, enum port_direction out, uint64_t epoch, unsigned slots)
{
	if (!port_is_open(epoch))
		__builtin_trap();
	struct port_end end = { .memory = memory, .out = out, .own = epoch, .transmit.mask = slots - 1 };

	end.mine = port_side(memory, out);
	end.theirs = port_side(memory, port_in(&end));
	end.sent = port_buffer(memory, out, slots, 0);
	end.received = port_buffer(memory, port_in(&end), slots, 0);
	bool first = !atomic_load_explicit(&port_theirs(&end)->epoch, memory_order_acquire);
	port_start_rings(&end, 0);
	end.may_send = first;
	port_announce(&end);
	return end;
}

/*
 * `out` says which end this is: PORT_TO_SWITCH for stacks and drivers,
 * PORT_FROM_SWITCH for the switch. `epoch` is even, and no former life's. The
 * other end is to be signalled.
 */
static inline struct port_end port_open(void *memory, enum port_direction out, uint64_t epoch)
{
	return port_open_slots(memory, out, epoch, PORT_SLOTS);
}

/* The same of a cable. */
static inline struct port_end cable_open(void *memory, enum port_direction out, uint64_t epoch)
{
	return port_open_slots(memory, out, epoch, CABLE_SLOTS);
}

/* Returns whether another party has overwritten the words that only this side writes. */
static inline bool port_corrupted(const struct port_end *end)
{
	const struct port_side *mine = port_mine(end);

	return atomic_load_explicit(&mine->epoch, memory_order_relaxed) != end->own ||
	       atomic_load_explicit(&mine->acknowledged, memory_order_relaxed) != end->seen;
}

/* The other cluster's manager has closed this side: it counts this program's cluster as lost, though the program still
 * runs. */
static inline bool port_is_given_up(const struct port_end *end)
{
	return atomic_load_explicit(&port_mine(end)->epoch, memory_order_relaxed) == (end->own | 1);
}

static inline bool port_epoch_changed(const struct port_end *end)
{
	return atomic_load_explicit(&port_theirs(end)->epoch, memory_order_acquire) != end->seen;
}

/* Returns whether the other side has another epoch than before, or port_corrupted(). */
static inline bool port_changed(const struct port_end *end) { return port_epoch_changed(end) || port_corrupted(end); }

/* Resets both rings and acknowledges the change that port_changed() has found. The caller signals the other end. */
static inline void port_reset(struct port_end *end)
{
	uint64_t epoch = atomic_load_explicit(&port_theirs(end)->epoch, memory_order_acquire);

	if (port_corrupted(end)) {
		end->own += 2;
		port_announce(end);
	}
	if (port_is_open(epoch))
		port_start_rings(end, epoch);
	end->rung = 0;
	end->up = end->may_send = false;
	end->seen = epoch;
	atomic_store_explicit(&port_mine(end)->acknowledged, epoch, memory_order_release);
}

/* Returns whether the other side has acknowledged this life. Before that there is no frame to take, no room to send. */
static inline bool port_handshake_done(struct port_end *end)
{
	if (!end->up && port_is_open(end->seen))
		end->up = end->may_send =
			atomic_load_explicit(&port_theirs(end)->acknowledged, memory_order_acquire) == end->own;
	return end->up;
}

/* Continues the handshake, or begins it anew after a change. Returns whether the caller must signal the other end. */
static inline bool port_poll(struct port_end *end)
{
	bool changed = port_changed(end);

	if (changed)
		port_reset(end);
	require(!end->up || (end->may_send && port_is_open(end->seen)));
	if (!end->up)
		port_handshake_done(end);
	return changed;
}

/* The buffer (PORT_BUFFER bytes) of the next frame to send, or null when there is no room. */
static inline void *port_reserve(struct port_end *end)
{
	if (!end->may_send || !ring_has_room(&end->transmit))
		return NULL;
	return end->sent + (end->transmit.position & end->transmit.mask) * PORT_BUFFER;
}

/* Send the frame written to the buffer that port_reserve() gave. */
static inline void port_publish(struct port_end *end, uint32_t length)
{
	const uint64_t position = end->transmit.position;
	struct ring_slot *slot = &end->transmit.ring->slot[position & end->transmit.mask];
	struct port_descriptor *descriptor = (void *)slot->payload;

	require(end->may_send);
	__atomic_store_n(&descriptor->length, length, __ATOMIC_RELAXED);
	__atomic_store_n(&descriptor->flags, 0, __ATOMIC_RELAXED);
	ring_publish_slot(&end->transmit, slot, position);
}

/* Returns whether port_peek() would find a frame. */
static inline bool port_ready(const struct port_end *end) { return end->up && ring_ready(&end->receive); }

/*
 * The oldest received frame, or null when there is none. `*length` is between
 * ETHERNET_HEADER and PORT_FRAME_MAX, or 0 for a frame that lies about its
 * length: release it.
 */
static inline void *port_peek(struct port_end *end, uint32_t *length)
{
	const uint64_t slot = end->receive.position & end->receive.mask;
	const struct port_descriptor *descriptor = (const void *)end->receive.ring->slot[slot].payload;

	if (!port_ready(end))
		return NULL;
	*length = __atomic_load_n(&descriptor->length, __ATOMIC_RELAXED);
	if (*length < ETHERNET_HEADER || *length > PORT_FRAME_MAX)
		*length = 0;
	return end->received + slot * PORT_BUFFER;
}

static inline void port_release(struct port_end *end)
{
	require(end->up);
	ring_release(&end->receive);
}

/* After port_publish(): whether the far end is to be signalled. */
static inline bool port_rings(struct port_end *end)
{
	return end->bell ? bell_rings(end->bell, &end->rung) : ring_wanted(&end->transmit);
}

/* Announces that this side is about to sleep. The caller has called bell_arm() of its own word, polls once more, then
 * waits. */
static inline void port_arm(struct port_end *end)
{
	if (!end->bell)
		ring_arm(&end->receive);
}
