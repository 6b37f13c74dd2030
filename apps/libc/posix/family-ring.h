/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of bytes that several processes may read and write, at an address of this process's. Each access to shared
 * words is an atomic one, and what a transfer changes is stored last, for a process may end between any two of them
 * (skerry/family_area.h). What other processes have stored is not trusted as a length.
 */
#pragma once

#include <skerry/family_area.h>
#include <skerry/require.h>
#include "byte-ring.h"

_Static_assert((int)FAMILY_RING_SIZE == (int)BYTE_RING_SIZE, "bytes are copied as those of a ring in one process");

struct ring {
	struct family_ring *shared;
	char *bytes;
};

static inline uint64_t ring_head(const struct ring *r) { return family_get(&r->shared->head); }
static inline uint64_t ring_tail(const struct ring *r) { return family_get(&r->shared->tail); }

/* Returns how many bytes can be read. The caller, without the ring's lock, gets a number that may be old. */
static inline size_t ring_held(const struct ring *r)
{
	const uint64_t tail = ring_tail(r), held = ring_head(r) - tail;

	return held <= FAMILY_RING_SIZE ? held : 0;
}

static inline size_t ring_room(const struct ring *r) { return FAMILY_RING_SIZE - ring_held(r); }

/* Takes the lock for the process at `place`, or returns false: another one has it. */
static inline bool ring_try_lock(const struct ring *r, uint32_t place)
{
	return family_replace(&r->shared->lock, 0, place + 1);
}

/* An exchange, so that a load behind it, as of `ends`, is not made before it (store buffering). */
static inline void ring_unlock(const struct ring *r, uint32_t place)
{
	require(family_get(&r->shared->lock) == place + 1);
	(void)place;
	family_swap(&r->shared->lock, 0);
}

/* Copies up to `size` bytes from `offset` behind the oldest one, and leaves them there. Returns how many. */
static inline size_t ring_peek(const struct ring *r, size_t offset, void *to, size_t size)
{
	const size_t held = ring_held(r);

	if (offset >= held)
		return 0;
	if (size > held - offset)
		size = held - offset;
	byte_ring_copy_out(r->bytes, (ring_tail(r) + offset) % FAMILY_RING_SIZE, to, size);
	return size;
}

/* Forgets the `size` oldest bytes, which are there. */
static inline void ring_drop(const struct ring *r, size_t size) { family_set(&r->shared->tail, ring_tail(r) + size); }

/* Copies what there is room for. Returns how much. */
static inline size_t ring_put(const struct ring *r, const void *from, size_t size)
{
	const uint64_t head = ring_head(r);
	const size_t room = ring_room(r);

	if (size > room)
		size = room;
	byte_ring_copy_in(r->bytes, head % FAMILY_RING_SIZE, from, size);
	family_set(&r->shared->head, head + size);
	return size;
}

/* Returns whether a process reads, or writes. */
static inline bool ring_has_reader(const struct ring *r)
{
	return (uint32_t)family_get(&r->shared->ends) && !(family_get(&r->shared->shut) & FAMILY_READ_SHUT);
}
static inline bool ring_has_writer(const struct ring *r)
{
	return family_get(&r->shared->ends) >> FAMILY_WRITER && !(family_get(&r->shared->shut) & FAMILY_WRITE_SHUT);
}

/* Returns whether no more will come than the ring holds. */
static inline bool ring_read_ended(const struct ring *r)
{
	return family_get(&r->shared->shut) & FAMILY_READ_SHUT || !ring_has_writer(r);
}
/* Returns whether whatever is written is refused. */
static inline bool ring_write_refused(const struct ring *r)
{
	return family_get(&r->shared->shut) & FAMILY_WRITE_SHUT || !ring_has_reader(r);
}

/* Takes a free ring of the area, empty, with a reader and a writer in the process at `place`. False: there is none. */
static inline bool ring_take(struct family_area *area, uint32_t place, struct ring *taken)
{
	for (unsigned i = 0; i < FAMILY_RINGS; i++) {
		struct family_ring *ring = &area->ring[i];
		if (family_get(&ring->ends) ||
		    !family_replace(&ring->ends, 0, family_reader(place) | family_writer(place)))
			continue;
		family_set(&ring->shut, 0);
		family_set(&ring->tail, 0);
		family_set(&ring->head, 0);
		*taken = (struct ring){ ring, area->bytes[i] };
		return true;
	}
	return false;
}
