/* SPDX-License-Identifier: BSD-2-Clause */
/* A load of calls, waits and signals on all cores, under which a test changes the kernel's settings. */
#pragma once

#include <stdint.h>
#include "ktest.h"

enum { TRAFFIC_CLIENTS = 4, TRAFFIC_OBJECTS = 2 + TRAFFIC_CLIENTS };

struct traffic {
	uint64_t slot[TRAFFIC_OBJECTS]; /* endpoint, reply object, a notification of each client */
	struct worker *server, *client[TRAFFIC_CLIENTS];
};

/* Answers each number with the next one: arg[0] is an endpoint, arg[1] a reply object. Never returns. */
void traffic_server(struct worker *self);
/*
 * Calls endpoint arg[0], and exchanges signals with itself by notification arg[1], until out[0] is set. Every fourth
 * wait has a deadline.
 */
void traffic_client(struct worker *self);
void traffic_begin(struct traffic *traffic);
/* Rounds of the client that has the fewest. */
uint64_t traffic_least(const struct traffic *traffic);
/* Ends the clients. Fails unless the server has answered each of their calls once. */
void traffic_end(struct traffic *traffic);
