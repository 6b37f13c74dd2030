/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios of test-sockets.c: each runs in a process of its own, which has a port. */
#pragma once

#include "layer.h"

enum { VANISHING = 14 /* the port of vanish() */, DATAGRAM_PEER = 16 };

extern struct network *network;
extern unsigned own_port;
extern pid_t own_stack; /* 0: within this process */

/* for a scenario that does not return */
void say_passed(void);

/* --- test-sockets-traffic.c --- */

void values_of_all_sizes(void);
void frames_of_a_request(void);
void fifty_pipelined(void);
void thousand_connections(void);
void thousand_at_once(void);
void slow_reader(void);
void load(void);
void six_hundred_first(void);
void six_hundred_more(void);

/* --- test-sockets-datagrams.c --- */

void datagram_peer(void);
void datagrams(void);

/* --- test-sockets-edges.c --- */

void edges(void);
void datagram_edges(void);

/* --- test-sockets-ends.c --- */

void ends(void);
void within_one_stack(void);
void vanish(void);
void others_while_one_vanishes(void);
void stack_dies(void);
