/* SPDX-License-Identifier: BSD-2-Clause */
#include <lwip/debug.h>
#include <skerry/require.h>
#include "../copy.h"
#include "headers.h"
#include "interface.h"
#include "received.h"

enum { HALF = CABLE_SLOTS / 2 };
_Static_assert(CABLE_SLOTS == 64, "a slot is a bit of struct lender");

/* Taken and given back in a few instructions. A frame's bytes are behind it. */
struct place {
	_Alignas(16) struct pbuf_custom custom; /* first: a pbuf of it is the place */
	struct place *next;
	struct lender *lender; /* of what is behind the headers; null: it is here */
	unsigned slot;
	uint32_t length;
};

/* Requests are short, and a server of many clients has one of each at a time. */
enum { PLACES = 16, SHORT_PLACES = 64, SHORT_FRAME = 192 };

static _Alignas(16) char places[PLACES][sizeof(struct place) + PORT_FRAME_MAX];
static _Alignas(16) char short_places[SHORT_PLACES][sizeof(struct place) + SHORT_FRAME];

struct pool {
	struct place *free; /* the last used first */
	unsigned used;      /* others were never touched */
};

static struct {
	struct pool large, small;
	struct pbuf_custom headers; /* of a frame for which there was no memory */
	uint8_t header_bytes[HEADERS_MAX];
	bool headers_used;
} received;

static inline uint8_t *frame_of(struct place *place) { return (uint8_t *)(place + 1); }

/* --- slots --- */

/* The position of the oldest slot that is lent, of which there is one. */
static uint64_t oldest_lent(const struct lender *lender)
{
	require(lender->lent);
	const uint64_t position = lender->port->receive.position;
	const unsigned first = position % CABLE_SLOTS;
	const uint64_t in_order = lender->lent >> first | lender->lent << (-first % CABLE_SLOTS);

	return position - CABLE_SLOTS + (unsigned)__builtin_ctzll(in_order);
}

static void give_back(struct place *place)
{
	struct lender *lender = place->lender;
	const bool first = lender->oldest % CABLE_SLOTS == place->slot;

	require(lender->lent >> place->slot & 1 && lender->place[place->slot] == place);
	lender->lent &= ~(1ull << place->slot);
	place->lender = NULL;
	if (!first)
		return;
	lender->oldest = lender->lent ? oldest_lent(lender) : lender->port->receive.position;
	require(lender->port->receive.position - lender->oldest <= CABLE_SLOTS);
	ring_return(&lender->port->receive, lender->oldest);
	interface_returned(lender);
}

static const char *slot_of(const struct place *place)
{
	require(place->lender && place->slot < CABLE_SLOTS);
	return place->lender->port->received + place->slot * PORT_BUFFER;
}

/* Copies what is lent. Out of line, with the long copy in it: seldom. */
static __attribute__((noinline, cold)) void place_own(struct place *place)
{
	const char *lent = slot_of(place), *payload = place->custom.pbuf.payload;

	require(place->length >= LENT_MIN && place->length <= PORT_FRAME_MAX);
	copy_bytes(frame_of(place) + LENT_HEADERS, lent + LENT_HEADERS, place->length - LENT_HEADERS);
	if (payload >= lent && payload < lent + PORT_BUFFER)
		place->custom.pbuf.payload = frame_of(place) + (payload - lent);
	give_back(place);
}

bool lender_release(struct lender *lender)
{
	struct ring_end *ring = &lender->port->receive;

	if (!lender->lent) {
		ring_release(ring);
		return true;
	}
	require(ring->position - lender->oldest < CABLE_SLOTS);
	ring->position++;
	while (lender->lent && ring->position - lender->oldest >= HALF)
		place_own(lender->place[lender->oldest % CABLE_SLOTS]);
	return false;
}

void lender_end(struct lender *lender)
{
	while (lender->lent)
		place_own(lender->place[__builtin_ctzll(lender->lent)]);
}

/* --- places --- */

static inline void put_place(struct pool *pool, struct place *place)
{
	require(place != pool->free && pool->used);
	place->next = pool->free;
	pool->free = place;
}

static void free_place(struct pbuf *pbuf)
{
	struct place *place = (struct place *)pbuf;

	if (place->lender)
		give_back(place);
	put_place(&received.large, place);
}

static void free_short_place(struct pbuf *pbuf) { put_place(&received.small, (struct place *)pbuf); }

static __attribute__((noinline, cold)) struct place *new_place(struct pool *pool, bool small)
{
	struct place *place = (struct place *)(small ? short_places[pool->used] : places[pool->used]);

	require(pool->used < (small ? SHORT_PLACES : PLACES));
	pool->used++;
	place->custom.custom_free_function = small ? free_short_place : free_place;
	return place;
}

/* Null: all are in use. */
static inline struct place *take_place(struct pool *pool, bool small)
{
	struct place *place = pool->free;

	if (place)
		pool->free = place->next;
	else if (pool->used < (small ? SHORT_PLACES : PLACES))
		place = new_place(pool, small);
	return place;
}

static inline struct pbuf *packet_in(struct place *place, uint32_t length, uint32_t room)
{
	require(length <= room);
	return pbuf_alloced_custom(PBUF_RAW, (u16_t)length, PBUF_REF, &place->custom, frame_of(place), (u16_t)room);
}

/* Memory for so many bytes, or null. */
static inline struct pbuf *memory_for(uint32_t length)
{
	struct place *place;

	if (length <= SHORT_FRAME && (place = take_place(&received.small, true)))
		return packet_in(place, length, SHORT_FRAME);
	place = take_place(&received.large, false);
	return place ? packet_in(place, length, PORT_FRAME_MAX) : pbuf_alloc(PBUF_RAW, (u16_t)length, PBUF_RAM);
}

static void free_headers(struct pbuf *pbuf)
{
	(void)pbuf;
	received.headers_used = false;
}

/* In memory that nothing else uses, or null. lwIP keeps no segment that has no data. */
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

struct pbuf *received_headers(struct lender *lender, const void *frame, uint32_t length)
{
	struct place *place = take_place(&received.large, false);

	require(length >= LENT_MIN && length <= PORT_FRAME_MAX);
	if (!place)
		return NULL;
	place->lender = lender;
	place->slot = lender->port->receive.position % CABLE_SLOTS;
	place->length = length;
	require(frame == slot_of(place) && !(lender->lent >> place->slot & 1));
	if (!lender->lent)
		lender->oldest = lender->port->receive.position;
	lender->lent |= 1ull << place->slot;
	lender->place[place->slot] = place;
	copy_bytes(frame_of(place), frame, LENT_HEADERS);
	return packet_in(place, length, PORT_FRAME_MAX);
}

void received_own(struct pbuf *pbuf)
{
	struct place *place = (struct place *)pbuf;

	if (pbuf->flags & PBUF_FLAG_IS_CUSTOM && place->custom.custom_free_function == free_place && place->lender)
		place_own(place);
}
