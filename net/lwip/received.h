/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of received frames. Most are read at once, so a few places for them
 * are kept apart from lwIP's memory. A frame is copied out of the ring, for its
 * far end may write it while lwIP looks at it (double fetch). Of a long one that
 * came by a cable only the headers are, at first: its data is *lent* by the
 * ring, and goes straight to the program, which reads it once. Until then the
 * far end may change it, to what it might as well have sent.
 *
 * Slots go back to the far end in order, so one that stays lent holds up all
 * behind it. What has been lent for half a ring is copied then, and so is
 * everything when the far end has ended or another one comes, and what a
 * program wants to read twice (MSG_PEEK).
 */
#pragma once

#include <lwip/pbuf.h>
#include "../port_end.h"

enum { LENT_HEADERS = ETHERNET_HEADER + 20 + 20, LENT_MIN = 512 };

struct place;

/* A cable's receiving end. All zero but for `port`: nothing is lent. */
struct lender {
	struct port_end *port;
	uint64_t lent;   /* slots, a bit for each */
	uint64_t oldest; /* position of the first of them: no slot from there on has been given back */
	struct place *place[CABLE_SLOTS];
};

/* The whole frame, or its headers if there is no memory for more. Null: not even for those. */
struct pbuf *received_copy(const void *frame, uint32_t length);

/*
 * The headers of the frame that port_peek() has given, at least LENT_MIN bytes long, in a packet of its whole length;
 * its data is what stands behind LENT_HEADERS bytes of `frame`. Null: it cannot be lent.
 */
struct pbuf *received_headers(struct lender *, const void *frame, uint32_t length);

/* Copies what is lent of it, if anything is. */
void received_own(struct pbuf *);

/* The slot of the frame that port_peek() has given is done with, but for what is lent. Returns whether it was given
 * back. */
bool lender_release(struct lender *);

/* Nothing is lent any more. */
void lender_end(struct lender *);
