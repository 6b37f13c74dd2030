/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A single-producer single-consumer ring of 64-byte slots in shared memory:
 * between processes, and between clusters over a channel. A message that fits
 * a slot costs the transfer of one cache line.
 *
 * Each slot carries its own sequence number, published last with release
 * order: slot i of lap n is full when its sequence is n*slots + i + 1. So a
 * consumer that acquires this number sees the payload, too, and the number of
 * an earlier lap never counts as full. The consumer publishes its position as
 * `taken`, with release order: a producer that acquires it overwrites no slot
 * that is still being read. It rereads `taken` only when its own copy, `limit`,
 * leaves no room.
 *
 * The peer may be hostile. Each side keeps what it trusts (position, mask) in
 * private memory, and uses nothing that the peer writes as an index or a length
 * unchecked. No message is lost: the producer of a full ring waits.
 *
 * Sleep and wake: a consumer calls ring_arm(), then ring_peek() once more, then
 * waits on its notification. (A process with network ports has one word for all
 * rings that it reads: bell.h.) A producer publishes slots, then calls
 * ring_wanted() once and signals if that returns true. Hazard: a lost wake-up,
 * where the consumer still finds the ring empty and the producer does not yet
 * find the consumer waiting. Both functions exchange the same word, `wanted`,
 * so one of them is first: if ring_arm() is, ring_wanted() returns true, and
 * acquires, so that the signal comes after all earlier waits of the consumer; if
 * ring_wanted() is, ring_arm() acquires what the producer had published, and
 * the consumer's second look finds it. A producer that waits for room does
 * likewise with `room_wanted`: ring_arm_room(), ring_reserve() once more, wait;
 * the consumer calls ring_room_wanted() after ring_release().
 *
 * A ring can be used anew, for example when one side has started again. It is
 * not zeroed for that: the other side could see it half zeroed. Both sides go on
 * at another position (ring_producer_at(), ring_consumer_at()), at which no
 * sequence number that is left from before makes a slot full.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <skerry/require.h>

enum { RING_PAYLOAD = 56, RING_SLOT = 64 };

struct ring_slot {
	_Alignas(64) _Atomic uint64_t sequence;
	uint8_t payload[RING_PAYLOAD];
};
_Static_assert(sizeof(struct ring_slot) == RING_SLOT, "one cache line");

/* The shared part, followed by `slots` slots. All zero is a valid empty ring. */
struct ring {
	_Alignas(64) _Atomic uint64_t taken;      /* consumer: its position */
	_Alignas(64) _Atomic uint32_t wanted;     /* consumer sleeps: signal it */
	_Alignas(64) _Atomic uint32_t room_wanted;/* producer sleeps for room: signal it */
	_Alignas(64) struct ring_slot slot[];
};

/* One side's private view. */
struct ring_end {
	struct ring *ring;
	uint64_t position; /* of the next slot: slots produced or consumed so far, plus where it started */
	uint64_t limit;    /* producer: position up to which there is room */
	uint64_t mask;     /* slots - 1 */
};

/* Returns the bytes that a ring takes. */
/*@ assigns \nothing; ensures \result == sizeof(struct ring) + slots * RING_SLOT; */
static inline uint64_t ring_size(unsigned slots) { return sizeof(struct ring) + (uint64_t)slots * RING_SLOT; }

/* Returns the place of a position's slot. `mask`: slots - 1. */
/*@ requires power: (mask & (mask + 1)) == 0 && mask < 1 << 32;
  @ assigns \nothing;
  @ ensures bits: inside: \result <= mask;
  @ ensures bits: place: ((position - \result) & mask) == 0; */
static inline uint64_t ring_place(uint64_t position, uint64_t mask) { return position & mask; }

/* Returns whether a producer at `position` may fill a slot, where the consumer says that it has taken those below
 * `taken`. Full, or a false position: more than the mask, as the difference wraps. */
/*@ requires mask < 1 << 32;
  @ assigns \nothing;
  @ ensures near: taken <= position && \result ==> position < taken + mask + 1;
  @ ensures room: taken <= position < taken + mask + 1 ==> \result;
  @ ensures false_position: position < taken <= position + (1 << 63) ==> !\result; */
static inline bool ring_room(uint64_t position, uint64_t taken, uint64_t mask) { return position - taken <= mask; }
/* Returns a side's view of a ring that was never used. `slots` is a power of two and comes from a trusted place, never
 * from the ring. */
static inline struct ring_end ring_producer(void *memory, unsigned slots)
{
	return (struct ring_end){ .ring = memory, .limit = slots, .mask = slots - 1 };
}
static inline struct ring_end ring_consumer(void *memory, unsigned slots)
{
	return (struct ring_end){ .ring = memory, .mask = slots - 1 };
}

/*
 * The same for a ring that was in use: `position` is a multiple of `slots` that
 * both sides know, and larger than any before. The producer publishes its first
 * slot only when it knows that the consumer has started there: a consumer at the
 * old position would never find that slot full.
 */
static inline struct ring_end ring_producer_at(void *memory, unsigned slots, uint64_t position)
{
	return (struct ring_end){ .ring = memory, .position = position, .limit = position + slots, .mask = slots - 1 };
}
static inline struct ring_end ring_consumer_at(void *memory, unsigned slots, uint64_t position)
{
	struct ring_end end = { .ring = memory, .position = position, .mask = slots - 1 };
	atomic_store_explicit(&end.ring->taken, position, memory_order_relaxed);
	return end;
}

/* Producer: whether there is a free slot. */
static inline bool ring_has_room(struct ring_end *end)
{
	if (end->position == end->limit) {
		uint64_t taken = atomic_load_explicit(&end->ring->taken, memory_order_acquire);
		if (!ring_room(end->position, taken, end->mask))
			return false;
		end->limit = taken + end->mask + 1;
	}
	return true;
}

/* Producer: the payload of the next free slot, or null when the ring is full. */
static inline void *ring_reserve(struct ring_end *end)
{
	return ring_has_room(end) ? end->ring->slot[ring_place(end->position, end->mask)].payload : 0;
}

/* Producer: publish the next free slot, which is `slot`; `position` is the end's. A caller that has both spares two
 * loads of each. */
static inline void ring_publish_slot(struct ring_end *end, struct ring_slot *slot, uint64_t position)
{
	require(position == end->position && slot == &end->ring->slot[ring_place(position, end->mask)]);
	end->position = position + 1;
	atomic_store_explicit(&slot->sequence, position + 1, memory_order_release);
}

/* Producer: publish the slot that ring_reserve() gave. */
static inline void ring_publish(struct ring_end *end)
{
	const uint64_t position = end->position;
	ring_publish_slot(end, &end->ring->slot[ring_place(position, end->mask)], position);
}

/* Consumer: whether there is a full slot. */
static inline bool ring_ready(const struct ring_end *end)
{
	const uint64_t position = end->position;
	const struct ring_slot *slot = &end->ring->slot[ring_place(position, end->mask)];
	return atomic_load_explicit(&slot->sequence, memory_order_acquire) == position + 1;
}

/* Consumer: the payload of the oldest full slot, or null. */
static inline void *ring_peek(struct ring_end *end)
{
	struct ring_slot *slot = &end->ring->slot[ring_place(end->position, end->mask)];
	return ring_ready(end) ? slot->payload : 0;
}

/* Consumer: gives back all slots below `position`, which is at most its own, and not below one that was given
 * before. */
static inline void ring_return(struct ring_end *end, uint64_t position)
{
	atomic_store_explicit(&end->ring->taken, position, memory_order_release);
}

/* Consumer: give back the slot that ring_peek() gave. */
static inline void ring_release(struct ring_end *end)
{
	const uint64_t position = end->position + 1;
	end->position = position;
	ring_return(end, position);
}

/* Consumer: asks to be signalled. The caller looks once more with ring_peek() before it sleeps. */
static inline void ring_arm(struct ring_end *end)
{
	atomic_exchange_explicit(&end->ring->wanted, 1, memory_order_acq_rel);
}
/* Producer, after ring_publish(): returns whether to signal the consumer, true once for each ring_arm(). */
static inline bool ring_wanted(struct ring_end *end)
{
	return atomic_exchange_explicit(&end->ring->wanted, 0, memory_order_acq_rel) != 0;
}
/* Producer: asks to be signalled when there is room. The caller looks once more with ring_reserve() before it
 * sleeps. */
static inline void ring_arm_room(struct ring_end *end)
{
	atomic_exchange_explicit(&end->ring->room_wanted, 1, memory_order_acq_rel);
}
/* Consumer, after ring_release(): returns whether to signal the producer, true once for each ring_arm_room(). */
static inline bool ring_room_wanted(struct ring_end *end)
{
	return atomic_exchange_explicit(&end->ring->room_wanted, 0, memory_order_acq_rel) != 0;
}
