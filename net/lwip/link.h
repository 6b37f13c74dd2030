/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One way out of the stack for frames: its end of the port to the switch, or of
 * a cable to another stack, and the frames that wait for room there.
 *
 * No frame is lost for want of room: those that find the ring full wait, in
 * order, until the far end has taken some, or until there is a far end again. They are lwIP's own pbufs, which it
 * does not send again meanwhile, so that waiting takes no memory. Should there
 * be too many, lwIP is told so and tries again. A cable's are at most as many as
 * there are places left: a link that takes nothing from its cable takes no other link's.
 */
#pragma once

#include <lwip/pbuf.h>
#include <skerry/require.h>
#include "../port_end.h"
#include "sent.h"

struct link {
	struct port_end port;
	struct sent_slot *slot; /* CABLE_SLOTS of a cable's ring to send; null: the link is no cable */
	uint16_t first, last; /* places of the frames that wait */
	unsigned waiting;
	unsigned published;   /* frames sent since the far end was last asked whether it sleeps */
	bool released;        /* frames were taken since it was last asked whether it waits for room */
	bool publish_pending; /* to signal: this life, or the acknowledgement of the far end's */
};

/* Returns the slot of the next frame. */
static inline struct sent_slot *cable_slot(struct link *cable)
{
	return &cable->slot[cable->port.transmit.position % CABLE_SLOTS];
}

/* Once, before the others, with the process's bell word. */
void links_start(struct bell *own);
/* `bell`: as in struct port_end; `slot`: as in struct link. */
void link_start(struct link *, struct port_end port, const struct bell *bell, struct sent_slot *slot);

/* Before links are looked at: the process does not sleep. */
void links_awake(void);
/* Before it does, and before link_arm() of each link. */
void links_arm(void);

/* ERR_MEM: too many frames wait. */
err_t link_send(struct link *, struct pbuf *frame);

/* link_flush() would do nothing. */
static inline bool link_is_flushed(const struct link *link)
{
	return !link->waiting && !link->published && !link->released && !link->publish_pending;
}

/* Sends what waits and has room now. Returns whether the far end is to be woken. */
bool link_flush(struct link *);

/* The far end has ended: its waiting frames are dropped. */
void link_drop(struct link *);

/*
 * Where the data of a new packet is to be put (interface.h): into the buffer of the next frame, or into the packet. A
 * frame that is sent before the packet is takes that slot, and the data is copied out of it first; so it is if the
 * packet goes elsewhere.
 */
static inline void *link_loan(struct link *link, struct pbuf *packet)
{
	require(link->slot);
	struct sent_slot *slot = cable_slot(link);

	return !slot->sent && link->port.may_send &&
	       ring_has_room(&link->port.transmit) ? sent_loan(packet, slot) : packet->payload;
}

/* Copies all sent data that is still in the ring. Before a successor of the far end may write it. */
void link_copy_out(struct link *);

/* Asks to be woken by frames, and by room if something waits for it. Returns whether the far end is to be woken. */
bool link_arm(struct link *);
