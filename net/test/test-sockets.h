/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios of test-sockets.c in test-sockets-ends.c: bodies of programs. */
#pragma once

enum { VANISHING = 14 /* the place of vanish() */, DATAGRAM_PEER = 16 };

void datagram_peer(void);
void datagrams(void);
void ends(void);
void within_one_stack(void);
void vanish(void);
void others_while_one_vanishes(void);
void stack_dies(void);
