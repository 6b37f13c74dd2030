/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Header prediction (Van Jacobson): the segment that an established connection
 * expects next, taken in without lwIP's general path, and the answer to it, sent
 * without. All others go through lwIP
 * as it is. What is sent, what the program is told and what the connection's
 * state is afterwards are the same both ways.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct netif;
struct pbuf;
struct tcp_pcb;

/* Returns whether an unchecked IPv4 packet is whole and to this interface; TCP's; and its headers have no options: 40
 * bytes. */
bool prediction_is_plain(const struct pbuf *packet, const struct netif *);

/*
 * Takes in a plain packet with a segment of this connection, by its addresses and ports, if it is the expected one:
 * in order, within the window, without flags but ACK and PSH, and new as data or as an
 * acknowledgement. The packet has been freed then, or is the program's. Returns false for any other one, and has
 * changed nothing. The connection's callbacks for received and sent data do not close it. `data`: where the bytes
 * behind the headers are, which the packet does not have then; null: behind its headers.
 */
bool prediction_take(struct tcp_pcb *, struct pbuf *packet, const struct netif *, void *data);

/*
 * tcp_write() of a copy where it would make one segment and the connection has no other. Returns false where it would
 * not, and where there is no memory, and has changed nothing.
 */
bool prediction_write(struct tcp_pcb *, const void *bytes, size_t size);

/*
 * tcp_output() where it would send one segment of data and has nothing under way. Returns false where it would not, and
 * has changed nothing.
 */
bool prediction_send(struct tcp_pcb *);
