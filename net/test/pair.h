/* SPDX-License-Identifier: BSD-2-Clause */
/* Two programs of a lab (lab/lab.h) that are played by hand: a client that is connected to a server by a cable. */
#pragma once

#include "lab/lab.h"

enum { SERVER, CLIENT, SERVICE = 6379, STEP = 10 /* ms */, STUCK = 500000, NEVER = 1000000 };

extern struct file *listener, *server, *client; /* the last two are the ends of the connection */

void pair_start(int count, char **arguments);
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
