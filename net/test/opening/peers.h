/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP with what stands in front of it, a program that it serves, and peers, which are packets. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>
#include <lwip/tcp.h>

static const uint32_t ADDRESS = 0x0a000001, PEERS = 0x0a090000; /* 10.0.0.1, 10.9.0.0 */

enum { PORT = 6379, PACKET = IP_HLEN + TCP_HLEN };
enum { PEER_WINDOW = 0xffff, STACK_MEMORY = 1 << 20 /* of share.h: 42 connections */ };

struct peer {
	uint32_t address;
	uint16_t port, to;
	uint32_t sent, received; /* the next sequence numbers of both directions */
};

/* The last packet that the stack has sent, and how many since the last segment. */
extern struct answer {
	unsigned count, flags, to_port;
	uint32_t to, sequence, acknowledged;
} answer;
extern uint32_t now;                 /* ms */
extern unsigned allocations, memory; /* blocks that are in use, and how many there may be */

extern void (*on_output)(struct pbuf *packet);
uint32_t net_random(void); /* also for what a test draws */

/* Starts lwIP. Returns a connection that is bound to PORT. */
struct tcp_pcb *start_lwip(void);
/* The same and a program that listens. `shares`: within STACK_MEMORY. */
struct tcp_pcb *start(bool shares);
void run_timers(void); /* those that are due */
void pass(unsigned milliseconds);

struct peer peer_of(unsigned number);
struct peer *make_peer(struct peer *peer, unsigned number);
/* A segment of zeros, with options of a multiple of four bytes. */
struct pbuf *make_segment(const struct peer *peer, uint32_t sequence, unsigned flags, unsigned data,
                          const uint8_t *options, unsigned size);
void give(struct pbuf *packet);
void send_segment(const struct peer *peer, uint32_t sequence, unsigned flags, unsigned data);
/* Returns whether the stack has sent one packet, to this peer, with these flags. */
bool is_answered(const struct peer *peer, unsigned flags);
/* Returns whether it was answered. The initial sequence number is answer.sequence. */
bool send_syn(struct peer *peer);
/* The same with options, a multiple of four bytes. */
bool send_syn_with(struct peer *peer, const uint8_t *options, unsigned size);
bool handshake(struct peer *peer);
/* Returns whether the program answers: the connection is open. */
bool is_open(struct peer *peer);
/* The connections in this state. */
unsigned count_in(enum tcp_state state);
/* The program closes first and is in TIME_WAIT afterwards. `data`: it sends much at once before, in no time. */
void close_by_program(struct peer *peer, bool data);
