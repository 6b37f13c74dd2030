/* SPDX-License-Identifier: BSD-2-Clause */
/* Two stacks with a clock of their own (../fuzz/): a client that is connected to a server. */
#pragma once

#include "../fuzz/fuzz.h"

enum { SERVER, CLIENT, STEP = 10 /* ms */, STUCK = 500000, NEVER = 1000000 };

extern struct file *server, *client; /* the ends of the connection */
extern bool client_stands;           /* its stack does nothing */

/* The argument: the module that both stacks are (../fuzz/stack.h). */
void pair_start(int argc, char **argv);
/* Without time: all that is under way arrives. */
void turn(void);
void pass(unsigned ms);

void connect_client(void); /* begins it */
void accept_client(void);
void connect_both(void);
void close_client(void);
/* The server writes all that its stack takes, and the client reads nothing. */
void fill(void);

/* The client has been told of an error. */
bool is_reset(void);
/* Milliseconds until it is; NEVER, if it is not within three times the timeout. */
unsigned until_reset(void);
bool is_about(unsigned ms, unsigned expected);
