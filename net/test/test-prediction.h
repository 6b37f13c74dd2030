/* SPDX-License-Identifier: BSD-2-Clause */
/* The random packets of the test of header prediction, its records, and its calls of lwIP. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <lwip/netif.h>
#include <lwip/tcp.h>

static const uint32_t ADDRESS = 0x0a000001, PEER = 0x0a090000; /* 10.0.0.1, 10.9.0.0 */

enum { PORT = 6379, MOST = 1460 }; /* bytes of a segment */

struct peer {
	uint16_t port;
	uint32_t sent, received; /* the next numbers of both directions */
	unsigned window;         /* a small one, or 0 */
	bool open;
};

extern struct peer peer;
extern struct netif netif;
extern uint32_t now, random_state;
extern uint64_t seen;   /* a digest of this step */
extern unsigned blocks; /* of memory that lwIP has */
extern bool finds;      /* connections are found, and so predicted */

void note(const void *bytes, size_t size);
void note_number(uint64_t number);
/* Every field of a connection that prediction could change. */
void note_state(const struct tcp_pcb *);

/* A ring that keeps the data of long segments that were sent once. */
extern unsigned kept_in_ring; /* segments, so far */
/* The packet to send, with its data. Returns its size. */
size_t bytes_of(struct pbuf *packet, unsigned char *bytes, size_t room);
/* As net/lwip/net.c has it, before lwIP's timers run. */
void empty_ring(void);

/* A random number. */
unsigned below(unsigned limit);

enum frame_fault { FRAME_WHOLE, FRAME_TYPE, FRAME_BROADCAST, FRAME_CUT };

struct packet {
	uint32_t sequence, acknowledges;
	unsigned flags, window, data;
	unsigned ip_options, tcp_options, padding, fragment; /* 4-byte words, 4-byte words, bytes, the field */
	bool chained, broken;
	enum frame_fault fault;
};

/* Sends the packet of the peer to lwIP. */
void input(const struct packet *);

/* A new connection, in place of one that may be there. */
void connect_peer(void);
