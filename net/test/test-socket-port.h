/* SPDX-License-Identifier: BSD-2-Clause */
/* Hostile sides of the socket protocol, made of chance: what test-socket-port.c runs in many trials. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/socket_port.h>

enum { STEPS = 3000, NUMBERS = 5 };

extern char *port;
extern struct ring_end out, in; /* the hostile side's */
extern unsigned moved, sent;    /* calls that moved bytes; messages */
extern bool said;               /* the other side has said that it wants no more of this */

uint32_t chance(uint32_t n); /* below n */

void hostile_program(void); /* test-socket-port-program.c */
void hostile_stack(void);   /* test-socket-port-stack.c */
