/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sent data that a cable's ring keeps. What a program writes goes straight to
 * the buffer of the next frame on its way, and stays there until it is
 * acknowledged or the buffer's slot is used again. Only its headers are in the
 * packet, for the far end can write the ring while lwIP looks at it.
 *
 * The packet has room for its data, but that room holds whatever was there
 * before, which must not leave this program. sent_take() copies the data into it
 * before anything looks there: lwIP's timers, which send a byte of it into a
 * closed window and divide up segments (net.c), and a link that sends the packet
 * again, or in another slot (link.c). lwIP looks at the data of a packet nowhere
 * else. What it gets is at worst what the far end has written meanwhile, and goes to the far end's station only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <lwip/debug.h>
#include <lwip/mem.h>
#include <lwip/pbuf.h>
#include <skerry/require.h>
#include "../port_end.h"

struct sent;

/* a slot of a ring to send */
struct sent_slot {
	struct sent *sent; /* the packet that has its data in the slot's buffer, or null */
	char *data;        /* in that buffer */
};

/* A packet to send. lwIP's headers and data are behind it. */
struct sent {
	_Alignas(16) struct pbuf_custom custom; /* first: a pbuf of it is this */
	struct sent_slot *slot; /* has its data; null: the packet has it */
};

enum {
	SENT_MIN = 512,
	SENT_HEADERS = ETHERNET_HEADER + 20 + 20,
	/* from the packet to the room for its data */
	SENT_BEFORE = sizeof(struct sent) + LWIP_MEM_ALIGN_SIZE(PBUF_TRANSPORT)
};
_Static_assert(LWIP_MEM_ALIGN_SIZE(PBUF_TRANSPORT) >= SENT_HEADERS, "room for the headers");

/* Frees a packet for which sent_is() holds, when its last reference goes. */
void sent_free(struct pbuf *);

/* Puts the packet's data in this slot from now on. Returns where. The packet begins with room for struct sent; the slot
 * has no other packet's data. */
static inline void *sent_loan(struct pbuf *packet, struct sent_slot *slot)
{
	struct sent *sent = (struct sent *)packet;

	require(!slot->sent && !(packet->flags & PBUF_FLAG_IS_CUSTOM));
	packet->flags = PBUF_FLAG_IS_CUSTOM;
	sent->custom.custom_free_function = sent_free;
	sent->slot = slot;
	slot->sent = sent;
	return slot->data;
}

/* Releases the slot of the packet's data, if it is in one. */
static inline void sent_leave(struct sent *packet)
{
	require(!packet->slot || packet->slot->sent == packet);
	if (packet->slot)
		packet->slot->sent = NULL;
}

/* Copies its data, which is in a slot, into the packet. */
void sent_take(struct sent *);

static inline bool sent_is(const struct pbuf *packet)
{
	return packet->flags & PBUF_FLAG_IS_CUSTOM && packet->type_internal == (u8_t)PBUF_RAM;
}

/* Copies the packet's data into the packet if it is in a slot. Takes any packet. */
static inline void sent_copy_out(struct pbuf *packet)
{
	if (sent_is(packet) && ((struct sent *)packet)->slot)
		sent_take((struct sent *)packet);
}
