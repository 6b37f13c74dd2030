/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One scrape at a time: the cluster-manager is asked what clusters count, which
 * may take it a second, and then all Redis instances, for a second at most.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "text.h"

enum { SCRAPE_POLLS_MAX = 128 };

/* Waits for the manager. False: nothing can be told now; a line on stderr has said why. */
bool scrape_begin(unsigned redis_port);

/* Between scrape_begin() and scrape_end(): what to wait for besides, and until when (milliseconds of now()). */
unsigned scrape_poll_set(struct pollfd *fds);
uint64_t scrape_deadline(void);
/* Says whether it is over. */
bool scrape_polled(const struct pollfd *fds, unsigned count);

/* The text, whose memory is the caller's. */
struct text scrape_end(void);

/* Milliseconds since some moment. */
uint64_t now(void);
