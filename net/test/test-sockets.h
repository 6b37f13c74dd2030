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

/* --- test-sockets-ends.c --- */

void datagram_peer(void);
void datagrams(void);
void ends(void);
void within_one_stack(void);
void vanish(void);
void others_while_one_vanishes(void);
void stack_dies(void);
