/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection that a segment belongs to, found in front of lwIP, which
 * searches a list of all connections for each segment. Here it is found by a
 * hash of its addresses. The segment that it expects next is taken in at once
 * (prediction.h). For any other one it is put at the front of that list, where
 * lwIP's own search ends at once. What lwIP answers does not depend on the
 * list's order.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "opening.h"

struct tcp_pcb;
struct tcp_pcb_listen;
struct tcp_hdr;
struct pbuf;
struct netif;

/* After lwip_init(). */
void connections_start(void);

/*
 * Returns whether there is memory for one more and its socket; asked before each tcp_new(), and before lwIP sees a SYN.
 * Without memory lwIP's tcp_alloc() frees connections in LAST_ACK and CLOSING, without a reset: what their peers had
 * not acknowledged yet would be lost, and the peers would wait for it. Without a socket a connection would be reset as
 * soon as its peer has it: lwIP's memory, freed blocks and a reserve, lasts longer than the layer's.
 */
bool connections_room(void);

/*
 * Returns whether there is memory for a segment without data: a reset, that of tcp_abort(), or a probe. A reset that
 * finds none is lost, and a peer that only reads would wait for ever.
 */
bool connections_segment_room(void);

/* Connections that the listener accepts are found from now on. */
void connections_listen(struct tcp_pcb *listener);

/* The handshake of a connection of such a listener is done. */
void connections_opened(struct tcp_pcb *);

/* A connection of tcp_connect(). Without memory it is not found here, but by lwIP. */
void connections_add(struct tcp_pcb *);

/*
 * LWIP_HOOK_IP4_INPUT: an IPv4 packet that nobody has checked. 0: lwIP goes on with it. 1: it was taken in here
 * (prediction.h), or dropped: a SYN for which there is no memory, or what ends a connection in TIME_WAIT (opening.h).
 */
int connections_seen(struct pbuf *, struct netif *);

/*
 * An Ethernet frame that nobody has checked. True: it was the segment that its connection expects, and was taken in;
 * lwIP's own way to it, through ethernet_input() and ip4_input(), changes nothing else. False: it is as it was.
 * `data`: see prediction_take().
 */
bool connections_frame(struct pbuf *, struct netif *, void *data);

/*
 * Before lwIP's timers run, tcp_write(), and the program's end. A fast retransmission for which the window has no room
 * is the first unsent segment, before the first one under way: tcp_write() would add the next data of the stream to it,
 * tcp_shutdown() FIN, and a timeout would put the others in front of it, where they wait for ever. It is under way
 * again afterwards.
 */
void connections_restore_order(struct tcp_pcb *);

/*
 * Before lwIP's timers run. Three of the things that they do lose data that the program has written:
 *
 *  - The persist timer sends as much of a segment as a small window has room for. lwIP 2.2.1's tcp_split_unsent_seg()
 *  leaves
 *    a FIN on that part, too, and the peer drops what follows it. Such segments are split and sent here first.
 *  - So are those that wait to be sent again, were written on, and are acknowledged in part. The timer would split the
 *    window's length from their beginning, and tcp_output() would never send a segment whose end has been acknowledged.
 *  - A connection in LAST_ACK is freed when nothing has come for twice TCP_MSL, without a reset, also where data has
 *  not been
 *    acknowledged. TCP_MSL is short, for TIME_WAIT. Such connections are kept: share.h says when they end.
 *
 * One frees a connection though its peer answers: lwIP counts a probe of a closed window as unanswered where it found
 * no memory to send it, and tries twice a second. Without memory the timer stands.
 *
 * And one is late: lwIP stops the persist timer only when it sends. Where all that waited was acknowledged while the
 * window was closed, the timer's intervals went on to grow, up to a minute, before there was anything to ask for. It is
 * stopped here.
 */
void connections_before_timers(void);

/*
 * From now on the peer has a certain time to take something. A window update may have been lost, or the peer away for a
 * while, and lwIP's intervals have grown up to a minute and more: without a question in that time, the peer could not
 * take anything. They begin anew.
 */
void connections_ask(struct tcp_pcb *);

/*
 * LWIP_HOOK_TCP_INPACKET_PCB: a segment of a connection, whose options are `size` bytes, of which `here` are behind its
 * header and the others at `behind`, and `length` bytes of data. It is examined for losses (recovery.h). Options count
 * in the first segment from a peer only. lwIP 2.2.1 takes an MSS from
 * any segment: if it is less than what an unsent segment has already, tcp_write() computes a negative room, unsigned,
 * and makes segments of more than 64 KiB, whose 16-bit length passes for that of a frame. A second SYN could ask for a
 * larger window than share.c gave.
 */
int connections_segment(struct tcp_pcb *, struct tcp_hdr *header, unsigned size, unsigned here, uint8_t *behind,
                        unsigned length);

/* Sends what is lost or has room, after lwIP has processed a packet. */
void connections_sent_rest(void);

/* Time-outs of all connections. Returns whether another tick is needed. */
bool connections_tick(void);

/* How many connections lwIP's list was searched through here; for tests. */
uint64_t connections_searched(void);

/*
 * The program at this address (network byte order) has ended without a word: its
 * connections are reset, unless it had sent its last. Of those and of what it has
 * not answered yet, segments are sent again at once, and an answer is for the process that has
 * the address now.
 */
void connections_ended(uint32_t ipv4);
