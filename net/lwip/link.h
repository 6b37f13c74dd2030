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
#include "../port_end.h"

struct link {
	struct port_end port;
	bool cable;
	uint16_t first, last; /* places of the frames that wait */
	unsigned waiting;
	unsigned published;   /* frames sent since the far end was last asked whether it sleeps */
	bool released;        /* frames were taken since it was last asked whether it waits for room */
	bool told;            /* to publish: this life, or the acknowledgement of the far end's */
};

/* Once, before the others. */
void links_start(void);
void link_start(struct link *, struct port_end port, bool cable);

/* The frame is at most PORT_FRAME_MAX bytes long. ERR_MEM: too many wait. */
err_t link_send(struct link *, struct pbuf *frame);

/* link_flush() would do nothing. */
static inline bool link_is_flushed(const struct link *link)
{
	return !link->waiting && !link->published && !link->released && !link->told;
}

/* Sends what waits and has room now. Returns whether the far end is to be woken. */
bool link_flush(struct link *);

/* The far end has ended: nobody takes what waits for it. */
void link_drop(struct link *);

/* Asks to be woken by frames, and by room if something waits for it. Returns whether the far end is to be woken. */
bool link_arm(struct link *);
