/* SPDX-License-Identifier: BSD-2-Clause */
#include <lwip/pbuf.h>
#include <skerry/require.h>
#include "../copy.h"
#include "link.h"

enum { PLACES = 8192, NOWHERE = PLACES };

/* Places for frames that wait, of all links: a chain of the free ones, and one for each link. */
static struct {
	struct pbuf *frame[PLACES];
	uint16_t next[PLACES];
	uint16_t first;
	unsigned free;
} places;

static struct bell *bell; /* of this process, for all links */

void links_start(struct bell *own)
{
	bell = own;
	for (unsigned i = 0; i < PLACES; i++)
		places.next[i] = (uint16_t)(i + 1);
	places.first = 0;
	places.free = PLACES;
}

void links_awake(void) { bell_awake(bell); }
void links_arm(void) { bell_arm(bell); }

void link_start(struct link *link, struct port_end port, const struct bell *bell, struct sent_slot *slot)
{
	require(!slot || port_slots(&port) == CABLE_SLOTS);
	port.bell = bell;
	*link = (struct link){ .port = port, .slot = slot, .first = NOWHERE, .last = NOWHERE, .publish_pending = true };
	for (unsigned i = 0; slot && i < CABLE_SLOTS; i++)
		slot[i].data = port.sent + i * PORT_BUFFER + SENT_HEADERS;
}

/* Something else is in the slot, or in the frame. */
static __attribute__((noinline, cold)) void make_room(struct sent *before, struct pbuf *frame)
{
	if (before)
		sent_take(before);
	sent_copy_out(frame);
}

static void link_publish(struct link *link, struct pbuf *frame, char *buffer)
{
	struct sent *sent = link->slot ? cable_slot(link)->sent : NULL;
	uint32_t length = 0;

	if (sent && &sent->custom.pbuf == frame) { /* its data is there */
		copy_bytes(buffer, frame->payload, SENT_HEADERS);
		length = frame->len;
		frame = frame->next;
	} else if (sent || frame->flags & PBUF_FLAG_IS_CUSTOM) {
		make_room(sent, frame);
	}
	/* lwIP counts lengths in 16 bits. Should a chain be longer than a frame all the same, the far end drops what is
	 * cut here. */
	for (; frame && frame->len <= PORT_FRAME_MAX - length; length += frame->len, frame = frame->next)
		copy_bytes(buffer + length, frame->payload, frame->len);
	port_publish(&link->port, length);
	link->published++;
}

static err_t link_hold(struct link *link, struct pbuf *frame)
{
	const uint16_t place = places.first;

	if (!places.free || (link->slot && link->waiting >= places.free))
		return ERR_MEM;
	require(place < PLACES && places.free <= PLACES);
	places.first = places.next[place];
	places.free--;
	pbuf_ref(frame);
	places.frame[place] = frame;
	places.next[place] = NOWHERE;
	if (link->waiting++)
		places.next[link->last] = place;
	else
		link->first = place;
	link->last = place;
	return ERR_OK;
}

/* The oldest of the frames that wait, of which there is one; the caller frees it. */
static struct pbuf *link_take(struct link *link)
{
	const uint16_t place = link->first;

	require(link->waiting && place < PLACES && places.free < PLACES);
	link->first = places.next[place];
	link->waiting--;
	places.next[place] = places.first;
	places.first = place;
	places.free++;
	return places.frame[place];
}

static void send_waiting(struct link *link)
{
	char *buffer;

	while (link->waiting && (buffer = port_reserve(&link->port))) {
		struct pbuf *frame = link_take(link);

		link_publish(link, frame, buffer);
		pbuf_free(frame);
	}
}

err_t link_send(struct link *link, struct pbuf *frame)
{
	char *buffer;

	if (link->waiting)
		send_waiting(link);
	buffer = link->waiting ? NULL : port_reserve(&link->port);
	if (!buffer)
		return link_hold(link, frame);
	link_publish(link, frame, buffer);
	return ERR_OK;
}

bool link_flush(struct link *link)
{
	bool wake = link->publish_pending;

	if (link->waiting)
		send_waiting(link);
	if (link->published && port_rings(&link->port))
		wake = true;
	if (link->released && ring_room_wanted(&link->port.receive))
		wake = true;
	link->published = 0;
	link->released = link->publish_pending = false;
	return wake;
}

void link_copy_out(struct link *link)
{
	require(link->slot);
	for (unsigned i = 0; i < CABLE_SLOTS; i++)
		if (link->slot[i].sent)
			sent_take(link->slot[i].sent);
}

void link_drop(struct link *link)
{
	while (link->waiting)
		pbuf_free(link_take(link));
	require(link->first == NOWHERE);
}

bool link_arm(struct link *link)
{
	port_arm(&link->port);
	if (!link->waiting)
		return false;
	ring_arm_room(&link->port.transmit);
	return link_flush(link); /* the second look */
}
