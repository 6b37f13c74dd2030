/* SPDX-License-Identifier: BSD-2-Clause */
/* Redis instances, asked for INFO all at once. One that is silent holds nobody up. */
#pragma once

#include <poll.h>

#include "snapshot.h"

enum { REDIS_ASKED_MAX = 128 };

/* Begins to query one server; *stats is filled in as answers arrive. A server that cannot be queried counts as down. */
void redis_ask(struct redis_info *stats, uint32_t ipv4, unsigned port);

/* How many have yet to answer. */
unsigned redis_waiting(void);

/* Fills `fds`, with room for redis_waiting() of them, for poll(). Returns their number. */
unsigned redis_poll_set(struct pollfd *fds);
/* The same `fds` after poll(). */
void redis_polled(const struct pollfd *fds, unsigned count);

/* Lets go of those that have not answered. */
void redis_give_up(void);

/* Reads an answer to INFO. Declared here for tests. */
void redis_read_info(struct redis_info *stats, const char *info);
