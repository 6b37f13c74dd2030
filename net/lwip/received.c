/* SPDX-License-Identifier: BSD-2-Clause */
#include <lwip/debug.h>
#include <skerry/require.h>
#include "../copy.h"
#include "headers.h"
#include "interface.h"
#include "received.h"

enum { HALF = CABLE_SLOTS / 2 };
_Static_assert(CABLE_SLOTS == 64, "a slot is a bit of struct loans");

/* Allocated and freed in a few instructions. A frame's bytes are behind it. */
struct packet_buffer {
	_Alignas(16) struct pbuf_custom custom; /* first: a pbuf of it is the buffer */
	struct packet_buffer *next;
	struct loans *loans; /* of the data behind the headers; null: it is here */
	unsigned slot;
	uint32_t length;
};

/* Requests are short, and a server of many clients has one of each at a time. */
enum { BUFFERS = 16, SHORT_BUFFERS = 64, SHORT_FRAME = 192 };

static _Alignas(16) char buffers[BUFFERS][sizeof(struct packet_buffer) + PORT_FRAME_MAX];
static _Alignas(16) char short_buffers[SHORT_BUFFERS][sizeof(struct packet_buffer) + SHORT_FRAME];

struct pool {
	struct packet_buffer *free; /* the last used first */
	unsigned used;      /* others were never touched */
};

static struct {
	struct pool large, small;
	struct pbuf_custom headers; /* of a frame for which there was no memory */
	uint8_t header_bytes[HEADERS_MAX];
	bool headers_used;
} received;

static inline uint8_t *frame_of(struct packet_buffer *buffer) { return (uint8_t *)(buffer + 1); }

/* --- slots --- */

/* Returns the position of the oldest slot on loan. There must be one. */
static uint64_t oldest_loan(const struct loans *loans)
{
	require(loans->slots);
	const uint64_t position = loans->port->receive.position;
	const unsigned first = position % CABLE_SLOTS;
	const uint64_t in_order = loans->slots >> first | loans->slots << (-first % CABLE_SLOTS);

	return position - CABLE_SLOTS + (unsigned)__builtin_ctzll(in_order);
}

static void return_loan(struct packet_buffer *buffer)
{
	struct loans *loans = buffer->loans;
	const bool first = loans->oldest % CABLE_SLOTS == buffer->slot;

	require(loans->slots >> buffer->slot & 1 && loans->buffer[buffer->slot] == buffer);
	loans->slots &= ~(1ull << buffer->slot);
	buffer->loans = NULL;
	if (!first)
		return;
	loans->oldest = loans->slots ? oldest_loan(loans) : loans->port->receive.position;
	require(loans->port->receive.position - loans->oldest <= CABLE_SLOTS);
	ring_return(&loans->port->receive, loans->oldest);
	interface_returned(loans);
}

static const char *slot_of(const struct packet_buffer *buffer)
{
	require(buffer->loans && buffer->slot < CABLE_SLOTS);
	return buffer->loans->port->received + buffer->slot * PORT_BUFFER;
}

/* Copies the data on loan into the packet buffer. Out of line, with the long copy in it: seldom. */
static __attribute__((noinline, cold)) void copy_out(struct packet_buffer *buffer)
{
	const char *loan = slot_of(buffer), *payload = buffer->custom.pbuf.payload;

	require(buffer->length >= LOAN_MIN && buffer->length <= PORT_FRAME_MAX);
	copy_bytes(frame_of(buffer) + LOAN_HEADERS, loan + LOAN_HEADERS, buffer->length - LOAN_HEADERS);
	if (payload >= loan && payload < loan + PORT_BUFFER)
		buffer->custom.pbuf.payload = frame_of(buffer) + (payload - loan);
	return_loan(buffer);
}

bool loans_release(struct loans *loans)
{
	struct ring_end *ring = &loans->port->receive;

	if (!loans->slots) {
		ring_release(ring);
		return true;
	}
	require(ring->position - loans->oldest < CABLE_SLOTS);
	ring->position++;
	while (loans->slots && ring->position - loans->oldest >= HALF)
		copy_out(loans->buffer[loans->oldest % CABLE_SLOTS]);
	return false;
}

void loans_end(struct loans *loans)
{
	while (loans->slots)
		copy_out(loans->buffer[__builtin_ctzll(loans->slots)]);
}

/* --- buffers --- */

static inline void put_buffer(struct pool *pool, struct packet_buffer *buffer)
{
	require(buffer != pool->free && pool->used);
	buffer->next = pool->free;
	pool->free = buffer;
}

static void free_buffer(struct pbuf *pbuf)
{
	struct packet_buffer *buffer = (struct packet_buffer *)pbuf;

	if (buffer->loans)
		return_loan(buffer);
	put_buffer(&received.large, buffer);
}

static void free_short_buffer(struct pbuf *pbuf) { put_buffer(&received.small, (struct packet_buffer *)pbuf); }

static __attribute__((noinline, cold)) struct packet_buffer *new_buffer(struct pool *pool, bool small)
{
	struct packet_buffer *buffer =
		(struct packet_buffer *)(small ? short_buffers[pool->used] : buffers[pool->used]);

	require(pool->used < (small ? SHORT_BUFFERS : BUFFERS));
	pool->used++;
	buffer->custom.custom_free_function = small ? free_short_buffer : free_buffer;
	return buffer;
}

/* Returns a packet buffer, or null if all are in use. */
static inline struct packet_buffer *take_buffer(struct pool *pool, bool small)
{
	struct packet_buffer *buffer = pool->free;

	if (buffer)
		pool->free = buffer->next;
	else if (pool->used < (small ? SHORT_BUFFERS : BUFFERS))
		buffer = new_buffer(pool, small);
	return buffer;
}

static inline struct pbuf *packet_in(struct packet_buffer *buffer, uint32_t length, uint32_t room)
{
	require(length <= room);
	return pbuf_alloced_custom(PBUF_RAW, (u16_t)length, PBUF_REF, &buffer->custom, frame_of(buffer), (u16_t)room);
}

/* Returns memory for so many bytes, or null. */
static inline struct pbuf *memory_for(uint32_t length)
{
	struct packet_buffer *buffer;

	if (length <= SHORT_FRAME && (buffer = take_buffer(&received.small, true)))
		return packet_in(buffer, length, SHORT_FRAME);
	buffer = take_buffer(&received.large, false);
	return buffer ? packet_in(buffer, length, PORT_FRAME_MAX) : pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_RAM);
}

static void free_headers(struct pbuf *pbuf)
{
	(void)pbuf;
	received.headers_used = false;
}

/* Returns a copy of the headers in the one reserved buffer, or null if it is in use. lwIP keeps no segment without
 * data. */
static __attribute__((noinline, cold)) struct pbuf *copy_headers(const void *frame, uint32_t length)
{
	if (received.headers_used || !(length = headers_only(received.header_bytes, frame, length)))
		return NULL;
	received.headers_used = true;
	received.headers.custom_free_function = free_headers;
	return pbuf_alloced_custom(PBUF_RAW, (u16_t)length, PBUF_REF, &received.headers, received.header_bytes,
				   sizeof(received.header_bytes));
}

struct pbuf *received_copy(const void *frame, uint32_t length)
{
	require(length <= PORT_FRAME_MAX);
	struct pbuf *copy = memory_for(length);

	if (!copy)
		return copy_headers(frame, length);
	copy_bytes(copy->payload, frame, length);
	return copy;
}

struct pbuf *received_headers(struct loans *loans, const void *frame, uint32_t length)
{
	struct packet_buffer *buffer = take_buffer(&received.large, false);

	require(length >= LOAN_MIN && length <= PORT_FRAME_MAX);
	if (!buffer)
		return NULL;
	buffer->loans = loans;
	buffer->slot = loans->port->receive.position % CABLE_SLOTS;
	buffer->length = length;
	require(frame == slot_of(buffer) && !(loans->slots >> buffer->slot & 1));
	if (!loans->slots)
		loans->oldest = loans->port->receive.position;
	loans->slots |= 1ull << buffer->slot;
	loans->buffer[buffer->slot] = buffer;
	copy_bytes(frame_of(buffer), frame, LOAN_HEADERS);
	return packet_in(buffer, length, PORT_FRAME_MAX);
}

void received_copy_out(struct pbuf *pbuf)
{
	struct packet_buffer *buffer = (struct packet_buffer *)pbuf;

	if (pbuf->flags & PBUF_FLAG_IS_CUSTOM && buffer->custom.custom_free_function == free_buffer && buffer->loans)
		copy_out(buffer);
}
