/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How connections begin, where lwIP decides in a way that strangers can use: initial sequence numbers, ports, half-open
 * connections, and SYNs for connections in TIME_WAIT.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct netif;
struct pbuf;
struct tcp_pcb;

enum {
	HALF_OPEN_MAX = 1024, /* of all listeners of a stack */
	OPENING_TRIES = 16,
};

/* A connection of a listener whose handshake is not done, in a queue of all of them: the oldest is first. */
struct half_open {
	struct tcp_pcb *pcb; /* null: it is in no queue */
	struct half_open *older, *newer;
};

/* Draws the secret of the initial sequence numbers. After lwip_init(). */
void opening_start(void);

/*
 * LWIP_HOOK_TCP_ISN, once for each connection: RFC 6528's sum of a clock that counts 250 a millisecond, in steps of a
 * millisecond, and a keyed hash of the addresses (network byte order) and ports (host byte order). A connection that
 * replaces one in TIME_WAIT begins behind the last number of that one.
 */
uint32_t opening_isn(uint32_t local_ip, uint16_t local_port, uint32_t remote_ip, uint16_t remote_port);

/*
 * A random port of those that programs need not name (RFC 6056, 3.3.1). It may be in use: the caller tries
 * OPENING_TRIES of them, then lwIP, which counts.
 */
uint16_t opening_port(void);

/*
 * Appends a connection that lwIP has just made in answer to a SYN. From now on it counts here, and not among lwIP's
 * accepts_pending. Drops the oldest where there are more than HALF_OPEN_MAX.
 */
void opening_put(struct half_open *, struct tcp_pcb *);

/* Removes a connection from the queue, if it is in it: its handshake is done, or lwIP frees it. */
void opening_remove(struct half_open *);

/*
 * Frees the oldest half-open connection without a word: its SYN may have come from nobody, and a reset would go to
 * another. Returns false where there is none, or only `except`, which lwIP is about to answer.
 */
bool opening_drop(const struct tcp_pcb *except);

/* The connections in the queue. */
unsigned opening_count(void);

/*
 * An IPv4 packet that nobody has checked, without a connection (null) or for one in TIME_WAIT, before lwIP sees it.
 * Returns 1 where it has been freed, else 0.
 *
 *  - In a flood the sequence number that a SYN is answered with is a cookie, by which the connection is made again when
 *  its peer
 *    acknowledges after it was dropped: a keyed hash of addresses, ports and the peer's number (26 bits), and what the
 *    SYN said of MSS and window scale. It is valid for 33 to 66 s, and only while half-open connections have been
 *    dropped as late as that.
 *  - A SYN for which half-open connections do not make room is dropped (connections_room()).
 *  - A SYN with a number behind all of the waiting connection's opens a new connection at once (RFC 1122, 4.2.2.13),
 *  where a program
 *    listens: the old one is freed. lwIP would answer with a reset, or with an acknowledgement. RFC 6191 would look at
 *    timestamps, which lwIP does not use here.
 *  - A reset with exactly the next number frees the waiting connection, as on Linux. A peer that has forgotten the
 *  connection sends it
 *    when an older SYN of its own has been acknowledged; its next SYN opens a new connection.
 */
int opening_seen(struct pbuf *, struct tcp_pcb *waiting, struct netif *);
