/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes on their way from one file to another: of a pipe, or of one direction of a pair of sockets. Under the layer's
 * lock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <skerry/require.h>

enum { BYTE_RING_SIZE = 16384, BYTE_RING_ATOMIC = 4096 /* room for so many makes it writable (PIPE_BUF) */ };

/* Copies bytes out of a ring's buffer from `at` on, behind its end from its start. */
static inline void byte_ring_copy_out(const char *buffer, size_t at, void *to, size_t size)
{
	size_t first = BYTE_RING_SIZE - at;

	if (first > size)
		first = size;
	require(at + first <= BYTE_RING_SIZE && size - first <= at);
	memcpy(to, buffer + at, first);
	memcpy((char *)to + first, buffer, size - first);
}

/* Copies bytes into a ring's buffer in the same way. */
static inline void byte_ring_copy_in(char *buffer, size_t at, const void *from, size_t size)
{
	size_t first = BYTE_RING_SIZE - at;

	if (first > size)
		first = size;
	require(at + first <= BYTE_RING_SIZE && size - first <= at);
	memcpy(buffer + at, from, first);
	memcpy(buffer, (const char *)from + first, size - first);
}

struct byte_ring {
	size_t head, tail; /* bytes written and read so far */
	char buffer[BYTE_RING_SIZE];
};

static inline size_t byte_ring_held(const struct byte_ring *r)
{
	require(r->head - r->tail <= BYTE_RING_SIZE);
	return r->head - r->tail;
}
static inline size_t byte_ring_room(const struct byte_ring *r) { return BYTE_RING_SIZE - byte_ring_held(r); }

/* Copies up to `size` bytes from `offset` behind the oldest one, and leaves them there. Returns how many. */
static inline size_t byte_ring_peek(const struct byte_ring *r, size_t offset, void *to, size_t size)
{
	const size_t held = byte_ring_held(r);

	if (offset >= held)
		return 0;
	if (size > held - offset)
		size = held - offset;
	byte_ring_copy_out(r->buffer, (r->tail + offset) % BYTE_RING_SIZE, to, size);
	return size;
}

static inline size_t byte_ring_read(struct byte_ring *r, void *to, size_t size)
{
	size = byte_ring_peek(r, 0, to, size);
	r->tail += size;
	return size;
}

/* Takes what there is room for. Returns how much. */
static inline size_t byte_ring_write(struct byte_ring *r, const void *from, size_t size)
{
	if (size > byte_ring_room(r))
		size = byte_ring_room(r);
	byte_ring_copy_in(r->buffer, r->head % BYTE_RING_SIZE, from, size);
	r->head += size;
	return size;
}
