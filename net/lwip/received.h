/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of received frames. Most are read at once, so a few packet buffers are
 * kept apart from lwIP's memory. A frame is copied out of the ring, for its far
 * end may write it while lwIP reads it (double fetch). Of a long frame from a
 * cable only the headers are copied at first: its data stays in the ring on
 * *loan* (zero copy), and is copied once, to the program. Until then the far end
 * may change it, to other bytes that it could have sent.
 *
 * Slots are returned to the far end in order, so one on loan holds up all behind
 * it. A loan that has lasted for half a ring is copied out. So are all when the
 * far end ends or is replaced, and data that a program reads twice (MSG_PEEK).
 */
#pragma once

#include <lwip/pbuf.h>
#include "../port_end.h"

enum { LOAN_HEADERS = ETHERNET_HEADER + 20 + 20, LOAN_MIN = 512 };

struct packet_buffer;

/* The loans of a cable's receiving end. All zero but for `port`: there is none. */
struct loans {
	struct port_end *port;
	uint64_t slots;  /* on loan, a bit for each */
	uint64_t oldest; /* position of the first of them: no slot from there on has been returned */
	struct packet_buffer *buffer[CABLE_SLOTS];
};

/* Returns a copy of the whole frame, or of its headers if there is no memory for more, or null. */
struct pbuf *received_copy(const void *frame, uint32_t length);

/*
 * Returns the headers of the frame that port_peek() has given, at least LOAN_MIN bytes long, in a packet of its whole
 * length; its data is on loan, behind LOAN_HEADERS bytes of `frame`. Null: there is no packet buffer.
 */
struct pbuf *received_headers(struct loans *, const void *frame, uint32_t length);

/* Copies the data of the packet that is on loan, if it is. */
void received_copy_out(struct pbuf *);

/* Releases the slot of the frame that port_peek() has given, unless it is on loan or behind one. Returns whether it was
 * returned. */
bool loans_release(struct loans *);

/* Ends all loans by copying their data. */
void loans_end(struct loans *);
